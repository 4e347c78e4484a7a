//! Reads a description file into an arena.
//!
//! The files are part of the program: a mistake in one is a bug, found by the test that parses them all, and so
//! this panics with the offending line.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{
    Embedded, Field, ListKind, PACKAGES, Package, Patch, Shape, Struct, Type, TypeId, TypeRef,
    package as load_package,
};

type Leaf = (&'static str, &'static str, fn() -> Shape);

/// Types with an encoding of their own: their name in the files and Go's name.
const LEAVES: [Leaf; 15] = [
    ("bool", "bool", || Shape::Bool),
    ("int32", "int32", || Shape::Int32),
    ("int64", "int64", || Shape::Int64),
    ("float64", "float64", || Shape::Float),
    ("string", "string", || Shape::String),
    ("[]byte", "[]uint8", || Shape::Bytes),
    ("types.UID", "types.UID", || Shape::String),
    ("Time", "v1.Time", || Shape::Time),
    ("MicroTime", "v1.MicroTime", || Shape::MicroTime),
    ("IntOrString", "intstr.IntOrString", || Shape::IntOrString),
    ("Quantity", "resource.Quantity", || Shape::Quantity),
    ("RawExtension", "runtime.RawExtension", || Shape::Raw),
    ("FieldsV1", "v1.FieldsV1", || Shape::Raw),
    ("JSON", "v1.JSON", || Shape::Raw),
    ("any", "interface {}", || Shape::Raw),
];

/// A declaration before its types are resolved.
enum Declaration {
    Alias { name: &'static str, of: &'static str },
    Struct { name: &'static str, object: bool, atomic: bool, lines: Vec<&'static str> },
}

impl Declaration {
    fn name(&self) -> &'static str {
        match self {
            Declaration::Alias { name, .. } | Declaration::Struct { name, .. } => name,
        }
    }
}

pub(super) fn package(index: usize, text: &'static str) -> Package {
    let declarations = declarations(text);
    let mut reader = Reader {
        package: u8::try_from(index).expect("there are few packages"),
        types: declarations.iter().map(|_| None).collect(),
        by_expression: HashMap::with_capacity(declarations.len() * 2),
    };
    for (position, declaration) in declarations.iter().enumerate() {
        let id = reader.id(position);
        reader.by_expression.insert(declaration.name().to_owned(), id);
    }
    let by_name: HashMap<_, _> =
        declarations.iter().map(|declaration| (declaration.name(), declaration)).collect();
    for (position, declaration) in declarations.iter().enumerate() {
        let ty = reader.declared(declaration, &by_name);
        reader.types[position] = Some(ty);
    }
    let mut names: Vec<_> = declarations
        .iter()
        .enumerate()
        .map(|(position, declaration)| {
            let object = matches!(declaration, Declaration::Struct { object: true, .. });
            (declaration.name(), reader.id(position).index, object)
        })
        .collect();
    names.sort_unstable();
    let types = reader.types.into_iter().map(|ty| ty.expect("every place was filled")).collect();
    Package { types, names, index: reader.package }
}

fn declarations(text: &'static str) -> Vec<Declaration> {
    let mut all: Vec<Declaration> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with(' ') {
            match all.last_mut() {
                Some(Declaration::Struct { lines, .. }) => lines.push(line),
                _ => panic!("a field outside a struct: {line}"),
            }
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        let declaration = match (words.next(), words.next(), words.next()) {
            (Some("type"), Some(name), Some(of)) => Declaration::Alias { name, of },
            (Some(word @ ("object" | "struct")), Some(name), atomic) => Declaration::Struct {
                name,
                object: word == "object",
                atomic: atomic == Some("atomic"),
                lines: Vec::new(),
            },
            _ => panic!("not a declaration: {line}"),
        };
        all.push(declaration);
    }
    all
}

struct Reader {
    package: u8,
    types: Vec<Option<Type>>,
    /// Type expressions that already have a place.
    by_expression: HashMap<String, TypeId>,
}

type Declarations<'a> = HashMap<&'static str, &'a Declaration>;

impl Reader {
    fn id(&self, position: usize) -> TypeId {
        TypeId { package: self.package, index: u16::try_from(position).expect("files are short") }
    }

    fn declared(&mut self, declaration: &Declaration, all: &Declarations<'_>) -> Type {
        match declaration {
            Declaration::Alias { name, of } => {
                let (_, shape) = self.shape(of, all);
                Type { go_name: format!("v1.{name}"), shape }
            }
            Declaration::Struct { name, object, atomic, lines } => {
                let mut fields = Vec::with_capacity(lines.len() + 2);
                if *object {
                    for field in ["apiVersion", "kind"] {
                        let embedded = [Embedded { go_name: "TypeMeta", number: 0 }];
                        fields.push(self.field(field, "string", "omitempty", &embedded, all));
                    }
                }
                self.fields(lines, &[], &mut fields, all);
                fields.sort_unstable_by_key(|field| field.name);
                Type {
                    go_name: format!("v1.{name}"),
                    shape: Shape::Struct(Struct { name, fields, atomic: *atomic, printed: OnceLock::new() }),
                }
            }
        }
    }

    fn fields(
        &mut self,
        lines: &[&'static str],
        embedded: &[Embedded],
        fields: &mut Vec<Field>,
        all: &Declarations<'_>,
    ) {
        for line in lines {
            let line = line.trim_ascii_start();
            let (name, rest) = line.split_once(' ').unwrap_or_else(|| panic!("a field without type: {line}"));
            let rest = rest.trim_ascii_start();
            let (expression, options) = rest.split_once(' ').unwrap_or((rest, ""));
            if name == "inline" {
                let Some(Declaration::Struct { lines, .. }) = all.get(expression).copied() else {
                    panic!("cannot inline: {line}");
                };
                let outer = Embedded { go_name: expression, number: number(options) };
                let deeper: Vec<_> = embedded.iter().copied().chain([outer]).collect();
                self.fields(lines, &deeper, fields, all);
            } else {
                fields.push(self.field(name, expression, options, embedded, all));
            }
        }
    }

    fn field(
        &mut self,
        name: &'static str,
        expression: &'static str,
        options: &'static str,
        embedded: &[Embedded],
        all: &Declarations<'_>,
    ) -> Field {
        let mut field = Field {
            name,
            ty: self.reference(expression, all),
            number: None,
            omit_empty: false,
            omit_zero: false,
            required: false,
            list: ListKind::Atomic,
            atomic: false,
            patch: None,
            default: None,
            embedded: embedded.to_vec(),
        };
        for option in options.split_ascii_whitespace() {
            match option.split_once('=').unwrap_or((option, "")) {
                ("omitempty", _) => field.omit_empty = true,
                ("omitzero", _) => field.omit_zero = true,
                ("required", _) => field.required = true,
                ("atomic", _) => field.atomic = true,
                ("default", json) => field.default = Some(json),
                ("list", kind) => field.list = list_kind(kind),
                ("patch", patch) => field.patch = Some(patch_option(patch)),
                _ if option.starts_with('@') => field.number = Some(number(option)),
                _ => panic!("unknown option {option} of {name}"),
            }
        }
        field
    }

    fn reference(&mut self, expression: &'static str, all: &Declarations<'_>) -> TypeRef {
        let (pointer, expression) = match expression.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, expression),
        };
        if let Some(id) = self.by_expression.get(expression) {
            return TypeRef { id: *id, pointer };
        }
        let id = foreign(expression).unwrap_or_else(|| {
            let (go_name, shape) = self.shape(expression, all);
            let id = self.id(self.types.len());
            self.types.push(Some(Type { go_name, shape }));
            id
        });
        self.by_expression.insert(expression.to_owned(), id);
        TypeRef { id, pointer }
    }

    /// Go's name and the shape of an expression that is not a struct of this package.
    fn shape(&mut self, expression: &'static str, all: &Declarations<'_>) -> (String, Shape) {
        if let Some((_, go_name, shape)) = LEAVES.iter().find(|(name, ..)| *name == expression) {
            return ((*go_name).to_owned(), shape());
        }
        if let Some(element) = expression.strip_prefix("[]") {
            let element = self.reference(element, all);
            return (format!("[]{}", self.go_name(element, all)), Shape::List(element));
        }
        if let Some((key, element)) = expression.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            let element = self.reference(element, all);
            let key = if key == "string" { key.to_owned() } else { format!("v1.{key}") };
            return (format!("map[{key}]{}", self.go_name(element, all)), Shape::Map(element));
        }
        let schema = || match self.by_expression.get("JSONSchemaProps") {
            Some(id) => *id,
            None => panic!("{expression} needs JSONSchemaProps"),
        };
        match expression {
            "SchemaOrBool" => ("v1.JSONSchemaPropsOrBool".to_owned(), Shape::SchemaOrBool(schema())),
            "SchemaOrArray" => ("v1.JSONSchemaPropsOrArray".to_owned(), Shape::SchemaOrArray(schema())),
            "SchemaOrStrings" => {
                ("v1.JSONSchemaPropsOrStringArray".to_owned(), Shape::SchemaOrStrings(schema()))
            }
            _ => panic!("unknown type {expression} in package {}", PACKAGES[usize::from(self.package)].name),
        }
    }

    /// Go's name of a type whose place may not be filled yet.
    fn go_name(&self, reference: TypeRef, all: &Declarations<'_>) -> String {
        if reference.id.package != self.package {
            return reference.get().go_name.clone();
        }
        if let Some(ty) = &self.types[usize::from(reference.id.index)] {
            return ty.go_name.clone();
        }
        let name = all.keys().find(|name| self.by_expression.get(**name) == Some(&reference.id));
        format!("v1.{}", name.expect("an unfilled place belongs to a declaration"))
    }
}

/// `meta.Condition`: a type of another package.
fn foreign(expression: &str) -> Option<TypeId> {
    let (package, name) = expression.split_once('.')?;
    let position = PACKAGES.iter().position(|source| source.name == package)?;
    let found = load_package(position).find(name);
    Some(found.unwrap_or_else(|| panic!("package {package} has no {name}")).0)
}

/// `@3`
fn number(text: &str) -> u32 {
    let number = text.trim_ascii().strip_prefix('@').and_then(|digits| digits.parse().ok());
    number.unwrap_or_else(|| panic!("not a field number: {text}"))
}

fn list_kind(text: &'static str) -> ListKind {
    match text.strip_prefix("map(").and_then(|keys| keys.strip_suffix(')')) {
        Some(keys) => ListKind::Map(keys.split(',').collect()),
        None if text == "set" => ListKind::Set,
        None => ListKind::Atomic,
    }
}

fn patch_option(text: &'static str) -> Patch {
    let (strategies, merge_key) = match text.split_once('(') {
        Some((strategies, key)) => (strategies, key.strip_suffix(')')),
        None => (text, None),
    };
    Patch { strategies: strategies.split(',').collect(), merge_key }
}
