-- What every turn looks up by another key than the row's own.
create index messages_run on messages (run_id);
create index messages_at on messages (at);
create index runs_parent on runs (parent_id);
