//! `JSONSchemaProps` read from a definition: every field, typed, borrowed from the value it came from.
//!
//! Reading fails only on fields of a wrong JSON type, which the decoder of definitions refuses before;
//! whether what is written makes sense is the question of [`crate::crd`].
//! Bound: [`MAX_DEPTH`] levels and [`MAX_NODES`] schemas.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/types_jsonschema.go, v1.36.

#[cfg(test)]
mod tests;

use meta::{FieldError, FieldPath, Map, Value};

/// How deep schemas may nest.
///
/// DIFFERENCE: the reference has no limit but that of its stack and of a request's size. The deepest public
/// definitions have about 20 levels.
pub const MAX_DEPTH: usize = 100;

/// How many schemas one definition's version may consist of.
///
/// DIFFERENCE: the reference has no limit; the largest public definitions have about 14,000.
pub const MAX_NODES: usize = 200_000;

/// One schema as written. Absent and empty are the same where Go's JSON makes no difference.
#[derive(Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent keywords of the schema language")]
pub struct Props<'a> {
    pub id: &'a str,
    pub schema: &'a str,
    pub reference: Option<&'a str>,
    pub description: &'a str,
    pub type_name: &'a str,
    pub format: &'a str,
    pub title: &'a str,
    pub default: Option<&'a Value>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: &'a str,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub multiple_of: Option<f64>,
    pub one_of_values: Option<&'a [Value]>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<&'a str>,
    pub items: Option<Items<'a>>,
    pub all_of: Vec<Props<'a>>,
    pub one_of: Vec<Props<'a>>,
    pub any_of: Vec<Props<'a>>,
    pub not: Option<Box<Props<'a>>>,
    /// Ascending by name, as are the other maps.
    pub properties: Vec<(&'a str, Props<'a>)>,
    pub additional_properties: Option<PropsOrBool<'a>>,
    pub pattern_properties: Vec<(&'a str, Props<'a>)>,
    pub dependencies: Vec<(&'a str, Dependency<'a>)>,
    pub has_dependencies: bool,
    pub additional_items: Option<PropsOrBool<'a>>,
    pub definitions: Vec<(&'a str, Props<'a>)>,
    pub external_docs: Option<ExternalDocs<'a>>,
    pub example: Option<&'a Value>,
    pub nullable: bool,
    pub preserve_unknown: Option<bool>,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    pub list_map_keys: Vec<&'a str>,
    pub list_type: Option<&'a str>,
    pub map_type: Option<&'a str>,
    pub rules: Vec<RuleProps<'a>>,
}

/// `items`: one schema for all, or one for each position.
#[derive(Debug, PartialEq)]
pub enum Items<'a> {
    All(Box<Props<'a>>),
    /// Refused by every definition, so kept as written for the message.
    Each(Vec<Props<'a>>, &'a [Value]),
}

impl<'a> Items<'a> {
    pub fn single(&self) -> Option<&Props<'a>> {
        match self {
            Items::All(props) => Some(props),
            Items::Each(..) => None,
        }
    }
}

#[derive(Debug, PartialEq)]
pub enum PropsOrBool<'a> {
    Bool(bool),
    Props(Box<Props<'a>>),
}

impl<'a> PropsOrBool<'a> {
    pub fn props(&self) -> Option<&Props<'a>> {
        match self {
            PropsOrBool::Props(props) => Some(props),
            PropsOrBool::Bool(_) => None,
        }
    }

    pub fn allows(&self) -> bool {
        !matches!(self, PropsOrBool::Bool(false))
    }
}

#[derive(Debug, PartialEq)]
pub enum Dependency<'a> {
    Props(Box<Props<'a>>),
    Names(Vec<&'a str>),
}

#[derive(Debug, PartialEq)]
pub struct ExternalDocs<'a> {
    pub description: &'a str,
    pub url: &'a str,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Default, PartialEq)]
pub struct RuleProps<'a> {
    pub rule: &'a str,
    pub message: &'a str,
    pub message_expression: &'a str,
    pub reason: Option<&'a str>,
    pub field_path: &'a str,
    pub optional_old_self: Option<bool>,
}

impl Props<'_> {
    /// Calls `visit` with this schema and every schema inside it, the way the reference walks them.
    pub fn each(&self, visit: &mut dyn FnMut(&Props<'_>)) {
        visit(self);
        match &self.items {
            Some(Items::All(props)) => props.each(visit),
            Some(Items::Each(list, _)) => list.iter().for_each(|props| props.each(visit)),
            None => {}
        }
        for props in self.all_of.iter().chain(&self.any_of).chain(&self.one_of) {
            props.each(visit);
        }
        if let Some(props) = &self.not {
            props.each(visit);
        }
        for (_, props) in &self.properties {
            props.each(visit);
        }
        if let Some(props) = self.additional_properties.as_ref().and_then(PropsOrBool::props) {
            props.each(visit);
        }
        for (_, props) in &self.pattern_properties {
            props.each(visit);
        }
        if let Some(props) = self.additional_items.as_ref().and_then(PropsOrBool::props) {
            props.each(visit);
        }
        for (_, props) in &self.definitions {
            props.each(visit);
        }
        for (_, dependency) in &self.dependencies {
            if let Dependency::Props(props) = dependency {
                props.each(visit);
            }
        }
    }

    /// Whether this schema or one inside it is as asked.
    pub fn any(&self, mut holds: impl FnMut(&Props<'_>) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |props| found = found || holds(props));
        found
    }
}

/// Reads a schema.
///
/// ```
/// use meta::{FieldPath, wire::json};
/// let schema = json::parse(br#"{"type": "object", "properties": {"a": {"maxLength": 3}}}"#).unwrap().value;
/// let props = crest_schema::parse::props(&schema, &FieldPath::ROOT).unwrap();
/// assert_eq!(props.properties[0].1.max_length, Some(3));
/// ```
pub fn props<'a>(value: &'a Value, path: &FieldPath<'_>) -> Result<Props<'a>, FieldError> {
    Reader { nodes: 0 }.props(value, path, 0).map_err(|error| *error)
}

struct Reader {
    nodes: usize,
}

/// Boxed, because it passes through every frame of the recursion.
type Read<T> = Result<T, Box<FieldError>>;

impl Reader {
    fn props<'a>(&mut self, value: &'a Value, path: &FieldPath<'_>, depth: usize) -> Read<Props<'a>> {
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return refused(path, format!("schemas may nest at most {MAX_DEPTH} levels"));
        }
        if self.nodes > MAX_NODES {
            return refused(path, format!("a schema may have at most {MAX_NODES} nodes"));
        }
        let Some(map) = value.as_object() else {
            return wrong(path, value, "object");
        };
        let mut props = Props::default();
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            self.field(&mut props, key, value, path, depth)?;
        }
        Ok(props)
    }

    /// A field that holds schemas; the others are not this function's, whose frame recurs.
    fn field<'a>(
        &mut self,
        props: &mut Props<'a>,
        key: &str,
        value: &'a Value,
        parent: &FieldPath<'_>,
        depth: usize,
    ) -> Read<()> {
        let path = &parent.field(key);
        match key {
            "items" => props.items = Some(self.items(value, path, depth)?),
            "allOf" => props.all_of = self.list(value, path, depth)?,
            "oneOf" => props.one_of = self.list(value, path, depth)?,
            "anyOf" => props.any_of = self.list(value, path, depth)?,
            "not" => props.not = Some(self.boxed(value, path, depth)?),
            "properties" => props.properties = self.map(value, path, depth)?,
            "additionalProperties" => props.additional_properties = Some(self.or_bool(value, path, depth)?),
            "patternProperties" => props.pattern_properties = self.map(value, path, depth)?,
            "dependencies" => {
                props.has_dependencies = true;
                props.dependencies = self.dependencies(value, path, depth)?;
            }
            "additionalItems" => props.additional_items = Some(self.or_bool(value, path, depth)?),
            "definitions" => props.definitions = self.map(value, path, depth)?,
            _ => return plain_field(props, key, value, path),
        }
        Ok(())
    }

    fn items<'a>(&mut self, value: &'a Value, path: &FieldPath<'_>, depth: usize) -> Read<Items<'a>> {
        match value {
            Value::Array(written) => Ok(Items::Each(self.list(value, path, depth)?, written)),
            _ => Ok(Items::All(self.boxed(value, path, depth)?)),
        }
    }

    fn or_bool<'a>(&mut self, value: &'a Value, path: &FieldPath<'_>, depth: usize) -> Read<PropsOrBool<'a>> {
        match value {
            Value::Bool(allows) => Ok(PropsOrBool::Bool(*allows)),
            _ => Ok(PropsOrBool::Props(self.boxed(value, path, depth)?)),
        }
    }

    /// A schema one level down. Schemas are large; boxing them here, out of line, keeps the frames of the recursion
    /// small.
    #[inline(never)]
    fn boxed<'a>(&mut self, value: &'a Value, path: &FieldPath<'_>, depth: usize) -> Read<Box<Props<'a>>> {
        match value {
            Value::Null => Ok(Box::default()),
            value => self.props(value, path, depth + 1).map(Box::new),
        }
    }

    fn list<'a>(&mut self, value: &'a Value, path: &FieldPath<'_>, depth: usize) -> Read<Vec<Props<'a>>> {
        let written = array(value, path)?;
        let mut list = Vec::with_capacity(written.len());
        for (index, item) in written.iter().enumerate() {
            list.push(*self.boxed(item, &path.index(index), depth)?);
        }
        Ok(list)
    }

    fn map<'a>(
        &mut self,
        value: &'a Value,
        path: &FieldPath<'_>,
        depth: usize,
    ) -> Read<Vec<(&'a str, Props<'a>)>> {
        let written = object(value, path)?;
        let mut map = Vec::with_capacity(written.len());
        for (name, member) in written.iter() {
            map.push((name, *self.boxed(member, &path.key(name), depth)?));
        }
        Ok(map)
    }

    fn dependencies<'a>(
        &mut self,
        value: &'a Value,
        path: &FieldPath<'_>,
        depth: usize,
    ) -> Read<Vec<(&'a str, Dependency<'a>)>> {
        let members = object(value, path)?.iter();
        members
            .map(|(name, member)| {
                let path = &path.key(name);
                let dependency = match member {
                    Value::Array(_) => Dependency::Names(texts(member, path)?),
                    _ => Dependency::Props(self.boxed(member, path, depth)?),
                };
                Ok((name, dependency))
            })
            .collect()
    }
}

/// A field that holds no schema.
#[inline(never)]
fn plain_field<'a>(props: &mut Props<'a>, key: &str, value: &'a Value, path: &FieldPath<'_>) -> Read<()> {
    match key {
        "id" => props.id = text(value, path)?,
        "$schema" => props.schema = text(value, path)?,
        "$ref" => props.reference = Some(text(value, path)?),
        "description" => props.description = text(value, path)?,
        "type" => props.type_name = text(value, path)?,
        "format" => props.format = text(value, path)?,
        "title" => props.title = text(value, path)?,
        "default" => props.default = Some(value),
        "maximum" => props.maximum = Some(number(value, path)?),
        "exclusiveMaximum" => props.exclusive_maximum = boolean(value, path)?,
        "minimum" => props.minimum = Some(number(value, path)?),
        "exclusiveMinimum" => props.exclusive_minimum = boolean(value, path)?,
        "maxLength" => props.max_length = Some(integer(value, path)?),
        "minLength" => props.min_length = Some(integer(value, path)?),
        "pattern" => props.pattern = text(value, path)?,
        "maxItems" => props.max_items = Some(integer(value, path)?),
        "minItems" => props.min_items = Some(integer(value, path)?),
        "uniqueItems" => props.unique_items = boolean(value, path)?,
        "multipleOf" => props.multiple_of = Some(number(value, path)?),
        "enum" => props.one_of_values = Some(array(value, path)?),
        "maxProperties" => props.max_properties = Some(integer(value, path)?),
        "minProperties" => props.min_properties = Some(integer(value, path)?),
        "required" => props.required = texts(value, path)?,
        "externalDocs" => props.external_docs = Some(external_docs(value, path)?),
        "example" => props.example = Some(value),
        "nullable" => props.nullable = boolean(value, path)?,
        "x-kubernetes-preserve-unknown-fields" => props.preserve_unknown = Some(boolean(value, path)?),
        "x-kubernetes-embedded-resource" => props.embedded_resource = boolean(value, path)?,
        "x-kubernetes-int-or-string" => props.int_or_string = boolean(value, path)?,
        "x-kubernetes-list-map-keys" => props.list_map_keys = texts(value, path)?,
        "x-kubernetes-list-type" => props.list_type = Some(text(value, path)?),
        "x-kubernetes-map-type" => props.map_type = Some(text(value, path)?),
        "x-kubernetes-validations" => props.rules = rules(value, path)?,
        _ => {} // the decoder of definitions reports unknown fields
    }
    Ok(())
}

fn rules<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<Vec<RuleProps<'a>>> {
    let items = array(value, path)?.iter().enumerate();
    items.map(|(index, item)| rule(item, &path.index(index))).collect()
}

fn rule<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<RuleProps<'a>> {
    let mut rule = RuleProps::default();
    for (key, value) in object(value, path)?.iter().filter(|(_, value)| !value.is_null()) {
        let path = &path.field(key);
        match key {
            "rule" => rule.rule = text(value, path)?,
            "message" => rule.message = text(value, path)?,
            "messageExpression" => rule.message_expression = text(value, path)?,
            "reason" => rule.reason = Some(text(value, path)?),
            "fieldPath" => rule.field_path = text(value, path)?,
            "optionalOldSelf" => rule.optional_old_self = Some(boolean(value, path)?),
            _ => {}
        }
    }
    Ok(rule)
}

fn external_docs<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<ExternalDocs<'a>> {
    let map = object(value, path)?;
    let member = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(ExternalDocs { description: member("description"), url: member("url") })
}

fn text<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<&'a str> {
    value.as_str().map_or_else(|| wrong(path, value, "string"), Ok)
}

fn boolean(value: &Value, path: &FieldPath<'_>) -> Read<bool> {
    value.as_bool().map_or_else(|| wrong(path, value, "boolean"), Ok)
}

fn integer(value: &Value, path: &FieldPath<'_>) -> Read<i64> {
    value.as_int().map_or_else(|| wrong(path, value, "integer"), Ok)
}

#[expect(clippy::cast_precision_loss, reason = "the reference keeps these numbers as float64")]
fn number(value: &Value, path: &FieldPath<'_>) -> Read<f64> {
    match value {
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        _ => wrong(path, value, "number"),
    }
}

fn array<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<&'a [Value]> {
    value.as_array().map_or_else(|| wrong(path, value, "array"), Ok)
}

fn object<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<&'a Map> {
    value.as_object().map_or_else(|| wrong(path, value, "object"), Ok)
}

fn texts<'a>(value: &'a Value, path: &FieldPath<'_>) -> Read<Vec<&'a str>> {
    let items = array(value, path)?.iter().enumerate();
    items
        .map(|(index, item)| match item {
            Value::Null => Ok(""),
            item => text(item, &path.index(index)),
        })
        .collect()
}

fn wrong<T>(path: &FieldPath<'_>, value: &Value, expected: &str) -> Read<T> {
    let detail = format!("must be of type {expected}");
    Err(Box::new(FieldError::type_invalid(path, value.type_name(), detail)))
}

fn refused<T>(path: &FieldPath<'_>, detail: String) -> Read<T> {
    Err(Box::new(FieldError::forbidden(path, detail)))
}
