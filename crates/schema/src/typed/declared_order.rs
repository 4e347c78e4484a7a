//! JSON in the order of Go's structs, as messages that show whole objects have it.

use meta::Value;
use meta::wire::json;

use super::types::{Field, Shape, TypeId};

/// JSON with the members of structs in the order in which Go declares them, which is that of their numbers.
pub(super) fn in_declared_order(id: TypeId, value: &Value) -> String {
    let joined = |texts: Vec<String>| texts.join(",");
    match (&id.get().shape, value) {
        (Shape::Struct(strukt), Value::Object(map)) => {
            let mut fields: Vec<(&Field, &Value)> =
                map.iter().filter_map(|(key, value)| Some((strukt.field(key)?, value))).collect();
            fields.sort_by_key(|(field, _)| field.number);
            let member = |(field, value): &(&Field, &Value)| {
                format!("\"{}\":{}", field.name, in_declared_order(field.ty.id, value))
            };
            format!("{{{}}}", joined(fields.iter().map(member).collect()))
        }
        (Shape::List(element), Value::Array(items)) => {
            let items = items.iter().map(|item| in_declared_order(element.id, item));
            format!("[{}]", joined(items.collect()))
        }
        (_, value) => json::to_string(value),
    }
}
