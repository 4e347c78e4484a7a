//! Revisioned objects: keys, codecs, optimistic updates, paging, the watch cache.
