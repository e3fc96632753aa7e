-- What every turn looks up by another key than the row's own.
create index messages_run on messages (run_id);
create index messages_at on messages (at);
create index runs_parent on runs (parent_id);

-- Facts by their meaning, where a model for that is configured: 32-bit floats of length one, little-endian.
create table fact_vectors (
    fact_id integer primary key references facts (id),
    model text not null,
    vector blob not null
);
