-- Agents of a project are data; an agent of the owner's own (the assistant) has no row.
create table agents (
    id text primary key,
    project_id text not null references projects (id) on delete cascade,
    slug text not null,
    name text not null,
    instructions text not null default '',
    model text not null default '',
    icon text not null default '',
    created_at text not null,
    unique (project_id, slug)
);

-- Work that one agent handed to another. The first ending stays.
create table jobs (
    id text primary key,
    project_id text not null references projects (id),
    kind text not null default 'a2a',
    sender text not null,
    sender_project text not null,
    recipient text not null,
    thread text not null,
    body text not null,
    wake integer not null,                       -- the sender gets a turn of its own when it ends
    waited integer not null,                     -- somebody waits for it now
    depth integer not null,
    status text not null default 'running'
        check (status in ('running', 'done', 'failed', 'timed_out', 'lost', 'cancelled')),
    run_id text not null,
    parent_id text,                              -- the job in which it was handed over
    created_at text not null,
    deadline_at text not null,
    closed_at text,
    result text not null default '',
    woken_at text                                -- claimed before anybody is woken: never twice
);
create index jobs_status on jobs (status, created_at);

-- Who answered, where it was not the assistant.
alter table runs add column answerer text not null default '';
