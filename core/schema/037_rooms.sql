-- Rooms: a thread in which several agents answer the owner. What is said in one stands in messages, thread group:<id>.
create table rooms (
    id text primary key,
    project_id text not null references projects (id),
    title text not null,
    created_at text not null
);

-- Name and face as they were when a member came: they outlive the agent, as what it said does.
create table room_members (
    room_id text not null references rooms (id) on delete cascade,
    project_id text not null,
    slug text not null,                          -- super_agent is the assistant
    name text not null,
    icon text not null default '',
    position integer not null,
    left_at text,
    primary key (room_id, slug)
);

-- The owner's lines, and how far each was answered. One that is open when the app starts will not be answered by itself.
create table room_lines (
    id text primary key,
    room_id text not null references rooms (id) on delete cascade,
    message_id integer not null,
    state text not null default 'open'
        check (state in ('open', 'answered', 'capped', 'spent', 'stopped', 'failed', 'lost')),
    replies integer not null default 0,
    opened_at text not null,
    closed_at text
);
create index room_lines_open on room_lines (state, room_id);
