//! Apply, case by case.
