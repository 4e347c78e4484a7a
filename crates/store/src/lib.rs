//! Revisioned bytes: transactions, history, watch, on one of several backends.
