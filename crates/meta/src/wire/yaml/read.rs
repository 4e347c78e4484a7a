//! From tokens to nodes: one document, with aliases still as references.

use std::collections::HashMap;

use super::YamlError;
use super::input::Mark;
use super::scan::{Scanner, Spanned, Token};

/// How deep sequences and mappings may nest, aliases expanded.
///
/// DIFFERENCE: the reference allows 10,000. JSON, which also comes as YAML, is read on a way of its own.
pub(super) const MAX_DEPTH: usize = 256;

/// A document as an arena of nodes.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Option<NodeId>,
}

pub(super) type NodeId = usize;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// As people count.
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) enum Kind {
    Scalar(Scalar),
    Sequence(Vec<NodeId>),
    /// Keys and values by turns.
    Mapping(Vec<NodeId>),
    Alias {
        target: NodeId,
        name: String,
    },
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    /// The full name of an explicit tag.
    pub(super) tag: Option<String>,
    /// Without quotes: its text decides what it is, unless there is a tag.
    pub(super) implicit: bool,
}

type Outcome<T = ()> = Result<T, YamlError>;

/// Reads the first document.
pub(super) fn document(text: &str) -> Outcome<Document> {
    let mut reader = Reader {
        scanner: Scanner::new(text),
        document: Document::default(),
        anchors: HashMap::new(),
        tags: Vec::new(),
        depth: 0,
    };
    reader.read()?;
    Ok(reader.document)
}

pub(super) fn too_deep() -> YamlError {
    YamlError::new(format!("exceeded max depth of {MAX_DEPTH}"))
}

/// Which nodes can stand at a place.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Flow,
    Block,
    /// Behind a key: a sequence may begin without being indented.
    BlockMember,
}

/// What may stand before a node.
#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
    /// Where they begin.
    start: Option<Mark>,
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    document: Document,
    anchors: HashMap<String, NodeId>,
    /// Handles of tags and what they stand for.
    tags: Vec<(String, String)>,
    depth: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Outcome {
        let explicit = matches!(
            self.scanner.peek()?.token,
            Token::Version { .. } | Token::TagDirective { .. } | Token::DocumentStart
        );
        if self.scanner.peek()?.token == Token::StreamEnd {
            return Ok(());
        }
        self.directives()?;
        if explicit {
            let Spanned { token, start, .. } = self.scanner.take()?;
            if token != Token::DocumentStart {
                let problem = "did not find expected <document start>";
                return Err(YamlError::of_parser(problem, start, Mark::default()));
            }
        }
        let next = self.scanner.peek()?;
        let empty = explicit
            && matches!(
                next.token,
                Token::Version { .. }
                    | Token::TagDirective { .. }
                    | Token::DocumentStart
                    | Token::DocumentEnd
                    | Token::StreamEnd
            );
        let start = next.start;
        let root = if empty { self.empty(start) } else { self.node(Place::Block)? };
        self.document.root = Some(root);
        // What follows is another document's matter, but it must begin with a token.
        self.scanner.peek().map(drop)
    }

    fn directives(&mut self) -> Outcome {
        let mut version_seen = false;
        loop {
            let (token, start) = {
                let next = self.scanner.peek()?;
                (next.token.clone(), next.start)
            };
            let error = |problem| Err(YamlError::of_parser(problem, start, Mark::default()));
            match token {
                Token::Version { .. } if version_seen => return error("found duplicate %YAML directive"),
                Token::Version { major: 1, minor: 1 } => version_seen = true,
                Token::Version { .. } => return error("found incompatible YAML document"),
                Token::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(other, _)| *other == handle) {
                        return error("found duplicate %TAG directive");
                    }
                    self.tags.push((handle, prefix));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tags.iter().any(|(other, _)| other == handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: Kind, start: Mark) -> NodeId {
        self.document.nodes.push(Node { kind, line: start.line + 1 });
        self.document.nodes.len() - 1
    }

    /// Nothing, where a node could be.
    fn empty(&mut self, start: Mark) -> NodeId {
        self.add(Kind::Scalar(Scalar { text: String::new(), tag: None, implicit: true }), start)
    }

    /// Whether the next token is one of these, which end or separate.
    fn at(&mut self, tokens: &[Token]) -> Outcome<bool> {
        let next = &self.scanner.peek()?.token;
        Ok(tokens.contains(next))
    }

    fn node(&mut self, place: Place) -> Outcome<NodeId> {
        if let Token::Alias(_) = self.scanner.peek()?.token {
            return self.alias();
        }
        let properties = self.properties()?;
        let (token, token_start) = {
            let next = self.scanner.peek()?;
            (next.token.clone(), next.start)
        };
        let start = properties.start.unwrap_or(token_start);
        let block = place != Place::Flow;
        let kind = match token {
            Token::BlockEntry if place == Place::BlockMember => Kind::Sequence(Vec::new()),
            Token::FlowSequenceStart => Kind::Sequence(Vec::new()),
            Token::BlockSequenceStart if block => Kind::Sequence(Vec::new()),
            Token::FlowMappingStart => Kind::Mapping(Vec::new()),
            Token::BlockMappingStart if block => Kind::Mapping(Vec::new()),
            Token::Scalar { text, plain } => {
                self.scanner.take()?;
                let implicit = properties.tag.as_ref().map_or(plain, |tag| tag == "!");
                Kind::Scalar(Scalar { text, tag: properties.tag, implicit })
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                let implicit = properties.tag.is_none();
                Kind::Scalar(Scalar { text: String::new(), tag: properties.tag, implicit })
            }
            _ => {
                let problem = "did not find expected node content";
                return Err(YamlError::of_parser(problem, token_start, start));
            }
        };
        let collection = !matches!(kind, Kind::Scalar(_));
        let id = self.add(kind, start);
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor, id);
        }
        if collection {
            self.collection(id)?;
        }
        Ok(id)
    }

    fn alias(&mut self) -> Outcome<NodeId> {
        let Spanned { token, start, .. } = self.scanner.take()?;
        let Token::Alias(name) = token else { unreachable!("only called for aliases") };
        let Some(&target) = self.anchors.get(&name) else {
            return Err(YamlError::new(format!("unknown anchor '{name}' referenced")));
        };
        Ok(self.add(Kind::Alias { target, name }, start))
    }

    /// An anchor and a tag, in either order.
    fn properties(&mut self) -> Outcome<Properties> {
        let mut properties = Properties::default();
        let mut tag = None;
        loop {
            match &self.scanner.peek()?.token {
                Token::Anchor(_) if properties.anchor.is_none() => {}
                Token::Tag { .. } if tag.is_none() => {}
                _ => break,
            }
            let Spanned { token, start, .. } = self.scanner.take()?;
            properties.start.get_or_insert(start);
            match token {
                Token::Anchor(name) => properties.anchor = Some(name),
                Token::Tag { handle, suffix } => tag = Some((handle, suffix, start)),
                _ => unreachable!("only these were let through"),
            }
        }
        if let Some((handle, suffix, tag_start)) = tag {
            let start = properties.start.unwrap_or(tag_start);
            properties.tag = Some(self.tag_name(&handle, suffix, tag_start, start)?);
        }
        Ok(properties)
    }

    fn tag_name(&self, handle: &str, suffix: String, tag_start: Mark, start: Mark) -> Outcome<String> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        match self.tags.iter().find(|(known, _)| known == handle) {
            Some((_, prefix)) => Ok(format!("{prefix}{suffix}")),
            None => Err(YamlError::of_parser("found undefined tag handle", tag_start, start)),
        }
    }

    /// Reads the children of a collection whose first token is next.
    fn collection(&mut self, id: NodeId) -> Outcome {
        if self.depth == MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        match self.scanner.peek()?.token {
            Token::BlockEntry => self.indentless_sequence(id)?,
            Token::BlockSequenceStart => self.block_sequence(id)?,
            Token::BlockMappingStart => self.block_mapping(id)?,
            Token::FlowSequenceStart => self.flow_sequence(id)?,
            _ => self.flow_mapping(id)?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn append(&mut self, id: NodeId, child: NodeId) {
        match &mut self.document.nodes[id].kind {
            Kind::Sequence(children) | Kind::Mapping(children) => children.push(child),
            _ => unreachable!("only collections get children"),
        }
    }

    /// A child, or nothing when one of these comes next.
    fn child(&mut self, id: NodeId, place: Place, ends: &[Token], nothing_at: Option<Mark>) -> Outcome {
        let child = if self.at(ends)? {
            let start = self.scanner.peek()?.start;
            self.empty(nothing_at.unwrap_or(start))
        } else {
            self.node(place)?
        };
        self.append(id, child);
        Ok(())
    }

    fn block_sequence(&mut self, id: NodeId) -> Outcome {
        let start = self.scanner.take()?.start;
        while self.at(&[Token::BlockEntry])? {
            let end = self.scanner.take()?.end;
            self.child(id, Place::Block, &[Token::BlockEntry, Token::BlockEnd], Some(end))?;
        }
        self.block_end("did not find expected '-' indicator", start)
    }

    fn block_end(&mut self, problem: &str, start: Mark) -> Outcome {
        let next = self.scanner.take()?;
        match next.token {
            Token::BlockEnd => Ok(()),
            _ => Err(YamlError::of_parser(problem, next.start, start)),
        }
    }

    fn indentless_sequence(&mut self, id: NodeId) -> Outcome {
        let ends = [Token::BlockEntry, Token::Key, Token::Value, Token::BlockEnd];
        while self.at(&[Token::BlockEntry])? {
            let end = self.scanner.take()?.end;
            self.child(id, Place::Block, &ends, Some(end))?;
        }
        Ok(())
    }

    fn block_mapping(&mut self, id: NodeId) -> Outcome {
        let ends = [Token::Key, Token::Value, Token::BlockEnd];
        let start = self.scanner.take()?.start;
        while self.at(&[Token::Key])? {
            let end = self.scanner.take()?.end;
            self.child(id, Place::BlockMember, &ends, Some(end))?;
            if self.at(&[Token::Value])? {
                let end = self.scanner.take()?.end;
                self.child(id, Place::BlockMember, &ends, Some(end))?;
            } else {
                let start = self.scanner.peek()?.start;
                let nothing = self.empty(start);
                self.append(id, nothing);
            }
        }
        self.block_end("did not find expected key", start)
    }

    fn flow_sequence(&mut self, id: NodeId) -> Outcome {
        let start = self.scanner.take()?.start;
        let mut first = true;
        while !self.at(&[Token::FlowSequenceEnd])? {
            if !first {
                self.flow_entry("did not find expected ',' or ']'", start)?;
            }
            first = false;
            if self.at(&[Token::Key])? {
                let pair = self.flow_pair()?;
                self.append(id, pair);
            } else if !self.at(&[Token::FlowSequenceEnd])? {
                let child = self.node(Place::Flow)?;
                self.append(id, child);
            }
        }
        self.scanner.take().map(drop)
    }

    fn flow_entry(&mut self, problem: &str, start: Mark) -> Outcome {
        let next = self.scanner.take()?;
        match next.token {
            Token::FlowEntry => Ok(()),
            _ => Err(YamlError::of_parser(problem, next.start, start)),
        }
    }

    /// A mapping of one member in a sequence: `[a: b]`.
    fn flow_pair(&mut self) -> Outcome<NodeId> {
        let ends = [Token::FlowEntry, Token::FlowSequenceEnd];
        let start = self.scanner.take()?.start;
        let id = self.add(Kind::Mapping(Vec::new()), start);
        if self.at(&[Token::Value, Token::FlowEntry, Token::FlowSequenceEnd])? {
            // A key that is missing takes the token behind it along, in the reference.
            let end = self.scanner.take()?.end;
            let nothing = self.empty(end);
            self.append(id, nothing);
        } else {
            let key = self.node(Place::Flow)?;
            self.append(id, key);
        }
        if self.at(&[Token::Value])? {
            self.scanner.take()?;
            self.child(id, Place::Flow, &ends, None)?;
        } else {
            let start = self.scanner.peek()?.start;
            let nothing = self.empty(start);
            self.append(id, nothing);
        }
        Ok(id)
    }

    fn flow_mapping(&mut self, id: NodeId) -> Outcome {
        let start = self.scanner.take()?.start;
        let mut first = true;
        while !self.at(&[Token::FlowMappingEnd])? {
            if !first {
                self.flow_entry("did not find expected ',' or '}'", start)?;
            }
            first = false;
            if self.at(&[Token::Key])? {
                self.scanner.take()?;
                let ends = [Token::Value, Token::FlowEntry, Token::FlowMappingEnd];
                self.child(id, Place::Flow, &ends, None)?;
                if self.at(&[Token::Value])? {
                    self.scanner.take()?;
                    self.child(id, Place::Flow, &[Token::FlowEntry, Token::FlowMappingEnd], None)?;
                    continue;
                }
            } else if self.at(&[Token::FlowMappingEnd])? {
                continue;
            } else {
                let key = self.node(Place::Flow)?;
                self.append(id, key);
            }
            let start = self.scanner.peek()?.start;
            let nothing = self.empty(start);
            self.append(id, nothing);
        }
        self.scanner.take().map(drop)
    }
}
