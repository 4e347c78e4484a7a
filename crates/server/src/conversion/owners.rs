//! Objects in the versions that their owners know them in, for the one who works out who owns what.
//!
//! Ownership of fields is worked out by pure functions, which cannot wait for a webhook. They are given what is known
//! already and leave behind what they lack; that is converted, and they run again. They give the same result for the
//! same input, so that the last run is the one that counts.

use meta::Value;
use parking_lot::Mutex;
use schema::apply::ConvertError;

use super::{ConversionError, Converter};

/// Bound: conversions for one write. A version needs a handful; definitions have few versions.
const MAX_CONVERSIONS: usize = 256;

/// What one request has learned about objects in other versions.
#[derive(Default)]
pub struct Conversions(Mutex<Known>);

#[derive(Default)]
struct Known {
    converted: Vec<Converted>,
    wanted: Option<(Value, String)>,
}

struct Converted {
    object: Value,
    api_version: String,
    result: Result<Value, ConversionError>,
}

impl Conversions {
    /// The object in another version, or the promise to get it.
    pub fn get(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        let object = without_owners(object);
        let mut known = self.0.lock();
        let found =
            known.converted.iter().find(|known| known.api_version == api_version && known.object == object);
        if let Some(found) = found {
            return found.result.clone().map_err(|error| ConvertError::Failed(error.to_string()));
        }
        if known.converted.len() < MAX_CONVERSIONS {
            known.wanted = Some((object, api_version.to_owned()));
        }
        Err(ConvertError::Failed(format!("the object is not known in version {api_version}")))
    }

    /// Runs `attempt` until it has every object that it asks for.
    pub async fn complete<T>(&self, converter: Option<&Converter>, mut attempt: impl FnMut() -> T) -> T {
        loop {
            let result = attempt();
            let wanted = self.0.lock().wanted.take();
            let (Some((object, api_version)), Some(converter)) = (wanted, converter) else { return result };
            let result = converter.convert_bare(object.clone(), &api_version).await;
            self.0.lock().converted.push(Converted { object, api_version, result });
        }
    }
}

/// Owners are worked out without those that are written down in the object.
fn without_owners(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}
