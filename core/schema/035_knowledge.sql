-- What is known, and where it came from; forgotten facts stay readable, and count for nothing.
create table facts (
    id integer primary key,
    project_id text not null default 'default' references projects (id),
    text text not null,
    source text not null check (source in ('owner', 'third_party', 'web', 'file')),
    channel text not null default '',
    sender text not null default '',
    run_id text,
    at text not null,
    forgotten_at text
);
create index facts_known on facts (project_id, forgotten_at, id);

create table tasks (
    id integer primary key,
    project_id text not null references projects (id),
    title text not null,
    body text not null default '',
    state text not null default 'open' check (state in ('open', 'done', 'dropped')),
    status text not null default 'pending' check (status in ('pending', 'running', 'in_review', 'blocked')),
    due text,
    author text not null default 'owner',
    run_id text,
    created_at text not null,
    updated_at text not null,
    closed_at text
);
create index tasks_project on tasks (project_id, state, id);

create table task_comments (
    id integer primary key,
    task_id integer not null references tasks (id),
    author text not null,
    text text not null,
    run_id text,
    at text not null
);
create index task_comments_task on task_comments (task_id, id);
