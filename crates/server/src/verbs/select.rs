//! Selectors, made ready for one resource.

use std::sync::Arc;

use meta::Text;
use meta::selector::{field, label};
use meta::status::Status;
use registry::{By, Entry, FieldPathSpec, Narrow, Object, ValueOf, label_bits};

use super::Call;
use super::options::ListOptions;
use crate::catalog::Resource;

/// Which objects of a resource a request is about.
pub(super) struct Selection {
    labels: Option<label::LabelSelector>,
    /// What every matching object's label summary must contain.
    label_bits: u64,
    fields: Vec<FieldCondition>,
    /// Who shows objects otherwise than they are stored, where that can make a difference: what counts is what
    /// clients see, with defaults that came after the object was written.
    shown_by: Option<Arc<Resource>>,
    /// Objects must be converted by somebody outside before they can be selected.
    asks: bool,
}

struct FieldCondition {
    source: FieldSource,
    value: meta::Text,
    equal: bool,
}

enum FieldSource {
    Name,
    Namespace,
    /// One of the resource's selectable fields.
    Field(FieldPathSpec),
}

impl Selection {
    pub(super) fn new(resource: &Arc<Resource>, options: &ListOptions) -> Result<Self, Status> {
        let labels = options.label_selector.clone().filter(|selector| !selector.is_empty());
        let label_bits = labels
            .iter()
            .flat_map(label::LabelSelector::equalities)
            .fold(0, |bits, (key, value)| bits | label_bits(key, value));
        let fields = match &options.field_selector {
            None => Vec::new(),
            Some(selector) => {
                let conditions =
                    selector.requirements().iter().map(|requirement| condition(resource, requirement));
                conditions.collect::<Result<_, _>>()?
            }
        };
        let by_field = |condition: &FieldCondition| matches!(condition.source, FieldSource::Field(_));
        // A webhook may change labels too.
        let asks =
            resource.form.asking_views().is_some() && (labels.is_some() || fields.iter().any(by_field));
        let shaped = resource.form.views().is_some() && fields.iter().any(by_field);
        let shown_by = (asks || shaped).then(|| resource.clone());
        Ok(Selection { labels, label_bits, fields, shown_by, asks })
    }

    /// Whether objects must be shown before they can be selected, and showing them may mean asking somebody.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// Whether an object's name and namespace are selected: no conversion changes those.
    pub(super) fn selects_name(&self, object: &Object) -> bool {
        let by_name = |condition: &&FieldCondition| !matches!(condition.source, FieldSource::Field(_));
        self.fields.iter().filter(by_name).all(|condition| condition.holds(object))
    }

    /// Whether an object is selected that is as clients see it.
    pub(super) fn selects_shown(&self, shown: &Object) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.matches(|key| shown.label(key)))
            && self.fields_hold(shown)
    }

    /// What a list or watch selects: by its options, and by the one name that an old-style path gives.
    pub(super) fn for_call(call: &Call, options: &ListOptions) -> Result<Self, Status> {
        let mut selection = Selection::new(&call.resource, options)?;
        if call.target().name_from_path {
            match options.field_selector.as_ref().filter(|selector| !selector.requirements().is_empty()) {
                Some(selector) if selector.required_value("metadata.name") != Some(call.name()) => {
                    return Err(Status::bad_request(
                        "fieldSelector metadata.name doesn't match requested name",
                    ));
                }
                Some(_) => {}
                None => selection.fields.push(FieldCondition {
                    source: FieldSource::Name,
                    value: call.name().into(),
                    equal: true,
                }),
            }
        }
        Ok(selection)
    }

    /// The one name that an object must have.
    pub(super) fn required_name(&self) -> Option<&str> {
        let named = |condition: &&FieldCondition| {
            condition.equal && matches!(condition.source, FieldSource::Name) && !condition.value.is_empty()
        };
        self.fields.iter().find(named).map(|condition| condition.value.as_str())
    }

    /// A value that every selected object has, by which an index may find them.
    pub(super) fn narrow(&self) -> Option<Narrow> {
        if self.asks {
            return None;
        }
        let mut equal = self.fields.iter().filter(|condition| condition.equal && !condition.value.is_empty());
        let by_field = equal.find_map(|condition| self.narrow_by_field(condition));
        by_field.or_else(|| {
            let (key, value) = self.labels.iter().flat_map(label::LabelSelector::equalities).next()?;
            let label = Text::from(key);
            let (by, value) = (By::Label(label.clone()), value.into());
            let read: ValueOf = Arc::new(move |object| object.label(&label).map(Text::from));
            Some(Narrow { by, value, read }).filter(|narrow| !narrow.value.is_empty())
        })
    }

    fn narrow_by_field(&self, condition: &FieldCondition) -> Option<Narrow> {
        let (by, read): (By, ValueOf) = match &condition.source {
            FieldSource::Name => (By::Name, Arc::new(|object| Some(object.name().into()))),
            FieldSource::Namespace => return None,
            FieldSource::Field(field) => {
                let field = field.clone();
                let label = field.label.clone();
                match &self.shown_by {
                    None => (
                        By::Field { shown_by: 0, label },
                        Arc::new(move |object| Some(object.field_text(&field))),
                    ),
                    Some(resource) => {
                        let shown_by = resource.form.views()?.description();
                        let resource = resource.clone();
                        let read = move |object: &Arc<Object>| {
                            Some(resource.form.at_hand(object)?.field_text(&field))
                        };
                        (By::Field { shown_by, label }, Arc::new(read))
                    }
                }
            }
        };
        Some(Narrow { by, value: condition.value.clone(), read })
    }

    /// Whether every object is selected.
    pub(super) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    pub(super) fn selects_entry(&self, entry: &Entry) -> bool {
        entry.may_have(self.label_bits) && self.selects(&entry.object)
    }

    pub(super) fn selects(&self, object: &Arc<Object>) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.matches(|key| object.label(key)))
            && match self.shown_by.as_ref().map(|resource| resource.form.at_hand(object)) {
                Some(Some(shown)) => self.fields_hold(&shown),
                // What has to be converted first is asked about by `selects_shown`.
                Some(None) => false,
                None => self.fields_hold(object),
            }
    }

    fn fields_hold(&self, object: &Object) -> bool {
        self.fields.iter().all(|condition| condition.holds(object))
    }
}

fn condition(resource: &Resource, requirement: &field::Requirement) -> Result<FieldCondition, Status> {
    let source = match requirement.field.as_str() {
        "metadata.name" => FieldSource::Name,
        "metadata.namespace" if resource.namespaced || resource.is_builtin() => FieldSource::Namespace,
        other => match resource.fields.find(other) {
            Some(field) => FieldSource::Field(field.clone()),
            None => return Err(unknown_field(resource, other)),
        },
    };
    let equal = requirement.operator == field::Operator::Equals;
    Ok(FieldCondition { source, value: requirement.value.clone(), equal })
}

fn unknown_field(resource: &Resource, label: &str) -> Status {
    if resource.is_builtin() && resource.fields.0.is_empty() {
        let quoted = meta::go_fmt::quote(label);
        return Status::bad_request(format!(
            "{quoted} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ));
    }
    Status::bad_request(format!("field label not supported: {label}"))
}

impl FieldCondition {
    fn holds(&self, object: &Object) -> bool {
        let same = match &self.source {
            FieldSource::Name => object.name() == self.value,
            FieldSource::Namespace => object.namespace() == self.value,
            FieldSource::Field(field) => object.field_is(field, &self.value),
        };
        same == self.equal
    }
}
