-- How a run came to its last word (core/runs/turn.py, Ending), and what a judge said of it (a JSON list).
alter table runs add column ending text not null default '';
alter table runs add column judge text not null default '[]';

-- Older lines of a thread as they are told to the model. The lines stay where they are; 'refused' keeps why.
create table compactions (
    id text primary key,
    thread text not null,
    first_id integer not null,                   -- messages: the first and last line that it stands for
    last_id integer not null,
    lines integer not null,
    summary text not null default '',
    state text not null check (state in ('kept', 'refused')),
    why text not null default '',
    target text not null default '',
    run_id text,
    at text not null
);
create index compactions_thread on compactions (thread, last_id);
