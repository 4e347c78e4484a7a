//! Who asks, and may they: authenticators and authorizers.
