//! Whether one type may stand where another is wanted, and what that says about unknown types.

use crate::types::Type;

/// What is known about type variables. Changes can be taken back.
#[derive(Default)]
pub(crate) struct Bindings {
    bound: Vec<Option<Type>>,
    /// Earlier bindings, to be restored.
    trail: Vec<(u32, Option<Type>)>,
}

impl Bindings {
    pub(crate) fn fresh(&mut self) -> Type {
        let number = u32::try_from(self.bound.len()).unwrap_or(u32::MAX);
        self.bound.push(None);
        Type::Var(number)
    }

    fn find(&self, ty: &Type) -> Option<&Type> {
        match ty {
            Type::Var(number) => self.bound.get(*number as usize)?.as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, variable: &Type, to: Type) {
        if let Type::Var(number) = variable
            && let Some(slot) = self.bound.get_mut(*number as usize)
        {
            self.trail.push((*number, slot.replace(to)));
        }
    }

    fn undo(&mut self, mark: usize) {
        for (number, earlier) in self.trail.drain(mark..).rev() {
            self.bound[number as usize] = earlier;
        }
    }

    /// Whether `left` may stand for `right`; what follows for variables is kept only if so.
    pub(crate) fn assignable(&mut self, left: &Type, right: &Type) -> bool {
        self.all_assignable(std::slice::from_ref(left), std::slice::from_ref(right))
    }

    pub(crate) fn all_assignable(&mut self, left: &[Type], right: &[Type]) -> bool {
        let mark = self.trail.len();
        let fits = self.try_all(left, right);
        if !fits {
            self.undo(mark);
        }
        fits
    }

    fn try_all(&mut self, left: &[Type], right: &[Type]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.try_assign(left, right))
    }

    fn try_assign(&mut self, left: &Type, right: &Type) -> bool {
        if matches!(right, Type::Var(_)) {
            match self.substitutes(left, right) {
                Substitution::Fits => return true,
                Substitution::Bound => return false,
                Substitution::Impossible => {}
            }
        }
        if matches!(left, Type::Var(_)) {
            return matches!(self.substitutes(right, left), Substitution::Fits);
        }
        if left.is_dyn_or_error() || right.is_dyn_or_error() {
            return true;
        }
        match (left, right) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(left), Type::List(right)) => self.try_assign(left, right),
            (Type::Map(left), Type::Map(right)) => {
                self.try_assign(&left.0, &right.0) && self.try_assign(&left.1, &right.1)
            }
            (Type::Opaque(left_name, left), Type::Opaque(right_name, right)) => {
                left_name == right_name && self.try_all(left, right)
            }
            _ => left.unwrapped() == right.unwrapped(),
        }
    }

    /// Whether `ty` may be what `variable` stands for.
    fn substitutes(&mut self, ty: &Type, variable: &Type) -> Substitution {
        if ty == variable {
            return Substitution::Fits;
        }
        if let Some(bound) = self.find(variable).cloned() {
            if *ty == bound {
                return Substitution::Fits;
            }
            if !self.try_assign(ty, &bound) {
                return Substitution::Bound;
            }
            let general = most_general(ty, &bound);
            if self.not_within(variable, &general) {
                self.bind(variable, general);
            }
            return Substitution::Fits;
        }
        if self.not_within(variable, ty) {
            self.bind(variable, ty.clone());
            return Substitution::Fits;
        }
        Substitution::Impossible
    }

    fn not_within(&self, variable: &Type, ty: &Type) -> bool {
        if variable == ty {
            return false;
        }
        match ty {
            Type::Var(_) => self.find(ty).is_none_or(|bound| self.not_within(variable, bound)),
            Type::List(element) => self.not_within(variable, element),
            Type::Map(entry) => self.not_within(variable, &entry.0) && self.not_within(variable, &entry.1),
            Type::Opaque(_, params) => params.iter().all(|param| self.not_within(variable, param)),
            Type::Type(Some(of)) => self.not_within(variable, of),
            _ => true,
        }
    }

    /// The type with what is known filled in; the rest becomes dyn when `to_dyn`.
    pub(crate) fn substitute(&self, ty: &Type, to_dyn: bool) -> Type {
        match ty {
            Type::Var(_) => match self.find(ty) {
                Some(bound) => self.substitute(bound, to_dyn),
                None if to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::Param(_) if to_dyn => Type::Dyn,
            other => other.map_parts(&mut |part| self.substitute(part, to_dyn)),
        }
    }
}

/// How a type relates to a variable.
enum Substitution {
    Fits,
    /// The variable stands for something else already.
    Bound,
    /// It would contain itself.
    Impossible,
}

fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null | Type::Opaque(..) | Type::Object(_) | Type::Duration | Type::Timestamp | Type::Wrapper(_)
    )
}

/// The more general of two types that unify.
pub(crate) fn most_general(left: &Type, right: &Type) -> Type {
    if is_equal_or_less_specific(left, right) { left.clone() } else { right.clone() }
}

fn is_equal_or_less_specific(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Dyn | Type::Var(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::List(left), Type::List(right)) => is_equal_or_less_specific(left, right),
        (Type::Map(left), Type::Map(right)) => {
            is_equal_or_less_specific(&left.0, &right.0) && is_equal_or_less_specific(&left.1, &right.1)
        }
        (Type::Opaque(left_name, left), Type::Opaque(right_name, right)) => {
            left_name == right_name
                && left.len() == right.len()
                && left.iter().zip(right.iter()).all(|(left, right)| is_equal_or_less_specific(left, right))
        }
        _ => left.unwrapped() == right.unwrapped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_attempt_leaves_no_trace() {
        let mut bindings = Bindings::default();
        let element = bindings.fresh();
        let wanted = [Type::list(element.clone()), Type::Int];
        assert!(!bindings.all_assignable(&[Type::list(Type::String), Type::String], &wanted));
        assert_eq!(bindings.substitute(&element, false), element);
        assert!(bindings.all_assignable(&[Type::list(Type::String), Type::Int], &wanted));
        assert_eq!(bindings.substitute(&element, false), Type::String);
    }

    #[test]
    fn a_variable_generalises_but_never_contains_itself() {
        let mut bindings = Bindings::default();
        let variable = bindings.fresh();
        assert!(bindings.assignable(&Type::Int, &variable));
        assert!(bindings.assignable(&Type::Dyn, &variable));
        assert_eq!(bindings.substitute(&variable, false), Type::Dyn);
        let other = bindings.fresh();
        assert!(!bindings.assignable(&Type::list(other.clone()), &other));
    }

    #[test]
    fn null_stands_for_objects_and_times_only() {
        let mut bindings = Bindings::default();
        for (ty, expected) in [
            (Type::object("T"), true),
            (Type::Timestamp, true),
            (Type::wrapper(Type::Int), true),
            (Type::Int, false),
            (Type::list(Type::Int), false),
        ] {
            assert_eq!(bindings.assignable(&ty, &Type::Null), expected, "{ty}");
        }
    }
}
