//! What the paths of the scale subresource point to has the types that a Scale needs.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go, v1.36.

#[cfg(test)]
mod tests;

use meta::{FieldError, FieldPath, Text, Value, go_fmt};

/// The paths of a version's `subresources.scale`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: Text,
    pub status_replicas: Text,
    pub label_selector: Option<Text>,
}

impl ScalePaths {
    /// Reads `subresources.scale` of a version.
    pub fn of(scale: &Value) -> ScalePaths {
        let path = |name: &str| scale.get(name).and_then(Value::as_str);
        ScalePaths {
            spec_replicas: path("specReplicasPath").unwrap_or_default().into(),
            status_replicas: path("statusReplicasPath").unwrap_or_default().into(),
            label_selector: path("labelSelectorPath").map(Text::from),
        }
    }

    /// The wanted replicas; `None` when nothing is there, an error when it is no integer.
    pub fn wanted(&self, object: &Value) -> Result<Option<i64>, String> {
        integer(object, &self.spec_replicas)
    }

    /// The counted replicas; none are none.
    pub fn counted(&self, object: &Value) -> Result<i64, String> {
        Ok(integer(object, &self.status_replicas)?.unwrap_or(0))
    }

    /// The selector of what is counted, empty when there is none.
    pub fn selector<'a>(&self, object: &'a Value) -> Result<&'a str, String> {
        let Some(path) = self.label_selector.as_deref().filter(|path| !path.is_empty()) else {
            return Ok("");
        };
        let Some(found) = lookup(object, path)? else { return Ok("") };
        of_type(found, "string", path)?;
        Ok(found.as_str().unwrap_or_default())
    }

    /// The names on the way to the wanted replicas.
    pub fn wanted_path(&self) -> impl Iterator<Item = &str> {
        self.spec_replicas.strip_prefix('.').unwrap_or(&self.spec_replicas).split('.')
    }

    /// Sets the wanted replicas, making the objects on the way to them.
    pub fn set_wanted(&self, object: &mut Value, count: i64) -> Result<(), String> {
        let mut current = object;
        for name in self.wanted_path() {
            if !matches!(current, Value::Object(_)) {
                let path: Vec<&str> = self.wanted_path().collect();
                return Err(format!(
                    "value cannot be set because .{} is not a map[string]interface{{}}",
                    path.join(".")
                ));
            }
            let Value::Object(members) = current else { unreachable!("looked above") };
            current = members.get_or_insert_with(name, || Value::Object(meta::Map::new()));
        }
        *current = Value::Int(count);
        Ok(())
    }

    /// Checks the wanted replicas; not asked when only the status is written.
    pub fn validate_spec(&self, object: &Value) -> Vec<FieldError> {
        replicas(object, &self.spec_replicas)
    }

    /// Checks the counted replicas and the selector.
    pub fn validate_status(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = replicas(object, &self.status_replicas);
        if let Some(path) = &self.label_selector
            && let Err(found) = lookup(object, path)
                .and_then(|value| value.map_or(Ok(()), |value| of_type(value, "string", path)))
        {
            errors.push(FieldError::invalid(&FieldPath::ROOT.field(path), "", found));
        }
        errors
    }
}

fn integer(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let Some(found) = lookup(object, path)? else { return Ok(None) };
    of_type(found, "int64", path)?;
    Ok(found.as_int())
}

fn replicas(object: &Value, path: &str) -> Vec<FieldError> {
    let field = FieldPath::ROOT.field(path);
    let found = integer(object, path).map(|count| count.unwrap_or(0));
    match found {
        Err(error) => vec![FieldError::invalid(&field, 0, error)],
        Ok(count) if count < 0 => {
            vec![FieldError::invalid(&field, count, "should be a non-negative integer")]
        }
        Ok(count) if count > i64::from(i32::MAX) => {
            vec![FieldError::invalid(&field, count, format!("should be less than or equal to {}", i32::MAX))]
        }
        Ok(_) => Vec::new(),
    }
}

/// Follows a dotted path. A path through something that is no object is an error, but for null, which holds nothing.
fn lookup<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut current = object;
    for (index, name) in path.split('.').enumerate() {
        if current.is_null() {
            return Ok(None);
        }
        let Value::Object(map) = current else {
            let upto: Vec<&str> = path.split('.').take(index + 1).collect();
            return Err(accessor_error(&upto.join("."), current, "map[string]interface{}"));
        };
        match map.get(name) {
            Some(value) => current = value,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

fn of_type(value: &Value, expected: &str, path: &str) -> Result<(), String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if go_fmt::type_name(value) == expected { Ok(()) } else { Err(accessor_error(path, value, expected)) }
}

fn accessor_error(path: &str, value: &Value, expected: &str) -> String {
    format!(
        ".{path} accessor error: {} is of the type {}, expected {expected}",
        go_value(value),
        go_fmt::type_name(value)
    )
}

/// `%v` of a decoded JSON value.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => go_fmt::float_v(*number),
        Value::String(text) => text.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let members: Vec<String> =
                map.iter().map(|(name, value)| format!("{name}:{}", go_value(value))).collect();
            format!("map[{}]", members.join(" "))
        }
    }
}
