//! Between the version that objects are stored in and the one that a request is in.

use std::sync::Arc;

use meta::Value;
use meta::wire::json;
use registry::Object;

use super::{BuiltinForm, CustomForm, Form, Hooks, Reads};
use crate::conversion::{ConversionError, Views};
use crate::verbs::write::{metadata_mut, set_or_remove};

/// The number under which objects remember how a built-in kind with a storage form of its own shows them.
const BUILTIN_VIEW: u64 = 0;

impl Form {
    /// How objects of the kind get from version to version.
    pub fn views(&self) -> Option<&Arc<Views>> {
        match self {
            Form::Custom(CustomForm { reads: Reads::Converted(views), .. }) => Some(views),
            _ => None,
        }
    }

    /// The same where somebody outside may have to be asked.
    pub fn asking_views(&self) -> Option<&Arc<Views>> {
        self.views().filter(|views| views.converter().asks())
    }

    /// A stored object as this kind shows it; `None` when it has to be converted by somebody outside.
    pub fn at_hand(&self, object: &Arc<Object>) -> Option<Arc<Object>> {
        match self {
            Form::Custom(CustomForm { reads: Reads::Converted(views), .. }) => views.at_hand(object),
            Form::Builtin(BuiltinForm { hooks: Hooks { storage: Some(form), .. }, ownership, .. }) => {
                Some(object.view(BUILTIN_VIEW, |object| {
                    let mut value = json::parse(object.bytes()).ok()?.value;
                    (form.from)(&mut value);
                    if let Value::Object(members) = &mut value {
                        members.insert("apiVersion", ownership.api_version.as_str());
                    }
                    object.with_text(&registry::codec::encode(&value))
                }))
            }
            _ => Some(object.clone()),
        }
    }

    /// A stored object as this kind shows it.
    pub async fn show(&self, object: &Arc<Object>) -> Result<Arc<Object>, ConversionError> {
        match (self.at_hand(object), self.views()) {
            (Some(shown), _) => Ok(shown),
            (None, None) => Ok(object.clone()),
            (None, Some(views)) => {
                let shown = Box::pin(views.show_all(std::slice::from_ref(object))).await?;
                Ok(shown.into_iter().next().unwrap_or_else(|| object.clone()))
            }
        }
    }

    /// Many stored objects as this kind shows them.
    pub async fn show_all(&self, objects: &mut [Arc<Object>]) -> Result<(), ConversionError> {
        let mut missing = Vec::new();
        for (index, object) in objects.iter_mut().enumerate() {
            match self.at_hand(object) {
                Some(shown) => *object = shown,
                None => missing.push(index),
            }
        }
        if let Some(views) = self.views().filter(|_| !missing.is_empty()) {
            let stored: Vec<_> = missing.iter().map(|index| objects[*index].clone()).collect();
            let shown = Box::pin(views.show_all(&stored)).await?;
            missing.into_iter().zip(shown).for_each(|(index, shown)| objects[index] = shown);
        }
        Ok(())
    }

    /// Turns an object into the form it is stored in.
    pub async fn to_storage(&self, object: Value, storage_version: &str) -> Result<Value, ConversionError> {
        match self {
            Form::Builtin(form) => {
                let mut object = object;
                if let Some(storage) = form.hooks.storage {
                    (storage.to)(&mut object);
                }
                Ok(object)
            }
            Form::Custom(form) => match &form.reads {
                Reads::Converted(views) if form.ownership.api_version != storage_version => {
                    let mut object = object;
                    metadata_mut(&mut object).remove("resourceVersion");
                    views.converter().convert(object, storage_version).await
                }
                _ => Ok(object),
            },
        }
    }

    /// What would be read of an object that is not written after all.
    pub async fn unstored(&self, mut object: Value, storage_version: &str) -> Result<Value, ConversionError> {
        let Some(views) = self.views().filter(|_| self.ownership().api_version != storage_version) else {
            self.default(&mut object);
            return Ok(object);
        };
        let version = object.at(&["metadata", "resourceVersion"]).cloned();
        let stored = self.to_storage(object, storage_version).await?;
        let mut shown = views.show_unstored(stored).await?;
        set_or_remove(metadata_mut(&mut shown), "resourceVersion", version);
        Ok(shown)
    }
}
