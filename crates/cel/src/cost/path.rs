//! Paths into declared types, shared the way the reference shares them.
//!
//! The reference grows paths with Go's `append`. Two paths grown from a common one may share its buffer,
//! and then the later overwrites the last element of the earlier. Verdicts on expressions depend on it
//! (a loop's range may take the size of a field named in its body), so buffers are modelled here.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ast::Name;

/// A path: the first elements of a buffer that other paths may share.
#[derive(Clone, Default)]
pub(super) struct Path {
    buffer: Option<Rc<RefCell<Buffer>>>,
    length: usize,
}

struct Buffer {
    elements: Vec<Name>,
    capacity: usize,
}

impl Path {
    /// A path of one element, in a buffer with no room for more.
    pub(super) fn single(name: Name) -> Path {
        let buffer = Buffer { elements: vec![name], capacity: 1 };
        Path { buffer: Some(Rc::new(RefCell::new(buffer))), length: 1 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn elements(&self) -> Vec<Name> {
        match &self.buffer {
            Some(buffer) => buffer.borrow().elements[..self.length].to_vec(),
            None => Vec::new(),
        }
    }

    /// The path with one element more: in place where the buffer has room, else in a buffer twice as large.
    pub(super) fn append(&self, element: &str) -> Path {
        let element = Name::from(element);
        if let Some(shared) = &self.buffer {
            let mut buffer = shared.borrow_mut();
            if self.length < buffer.capacity {
                if self.length < buffer.elements.len() {
                    buffer.elements[self.length] = element;
                } else {
                    buffer.elements.push(element);
                }
                drop(buffer);
                return Path { buffer: Some(Rc::clone(shared)), length: self.length + 1 };
            }
        }
        let mut elements = self.elements();
        elements.push(element);
        let capacity = match &self.buffer {
            None => 1,
            Some(buffer) => buffer.borrow().capacity * 2,
        };
        let buffer = Buffer { elements, capacity };
        Path { buffer: Some(Rc::new(RefCell::new(buffer))), length: self.length + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_overwrite_each_other_where_the_buffer_has_room() {
        let two = Path::single("self".into()).append("a");
        let three = two.append("@items");
        let names = three.append("names");
        let prefix = three.append("prefix");
        assert_eq!(names.elements(), prefix.elements(), "length 3 of capacity 4 leaves room");
        let other = two.append("b");
        assert_eq!(&*three.elements()[2], "@items", "length 2 of capacity 2 leaves none");
        assert_eq!(&*other.elements()[2], "b");
    }
}
