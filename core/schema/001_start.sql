-- Times are UTC text (ISO 8601, milliseconds). Money is in millionths of a US dollar.
create table projects (
    id text primary key, name text not null, path text not null default '', created_at text not null
);
insert into projects (id, name, created_at) values ('default', 'default', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));

create table alerts (
    id text primary key,
    project_id text not null references projects (id),
    source text not null,                       -- http, watch, owner
    idempotency_key text,
    content_type text not null default '',
    body text not null default '',
    truncated integer not null default 0,
    received_at text not null,
    state text not null default 'waiting' check (state in ('waiting', 'taken', 'worked', 'relayed')),
    round_id text,
    unique (project_id, idempotency_key)
);
create index alerts_state on alerts (state, received_at);

create table rounds (
    id text primary key,
    project_id text not null references projects (id),
    state text not null check (state in ('running', 'closed', 'relayed', 'failed')),
    phone_state text not null default '',        -- ready, or a state of PhoneUnreachable
    source text not null default 'screen' check (source in ('screen', 'notifications', 'alert')),
    why text not null default '',
    in_background integer,                       -- 1 verified, 0 still in front, null not known
    started_at text not null,
    closed_at text,
    report_id text,                              -- outbox
    resumed integer not null default 0
);

create table round_steps (
    id integer primary key,
    round_id text not null references rounds (id),
    at text not null,
    name text not null,
    detail text not null default '{}',
    ms integer not null default 0
);

create table conversations (
    id text primary key,
    round_id text not null references rounds (id),
    position integer not null,
    title text not null,
    number text not null default '',
    kind text not null default 'person' check (kind in ('person', 'group', 'broadcast', 'community', 'unknown')),
    archived integer not null default 0,
    unread integer,                              -- null: marked as unread, no number
    preview text not null default '',
    posture text not null default '',
    state text not null default 'found' check (state in ('found', 'read', 'decided', 'done', 'failed')),
    decision text check (decision in ('reply', 'ask_owner', 'forward', 'leave')),
    decision_args text not null default '{}',
    decided_by text not null default '',         -- a target, or the rule that decided without one
    reason text not null default '',
    outcome text check (outcome in ('sent', 'rejected', 'unknown', 'not_sent')),
    outcome_why text not null default '',
    run_id text,
    complete integer not null default 1,         -- 0: more was unread than could be read
    found_at text not null,
    read_at text,
    decided_at text,
    closed_at text,
    unique (round_id, position)
);

create table phone_messages (
    id integer primary key,
    conversation_id text not null references conversations (id),
    position integer not null,
    direction text not null check (direction in ('in', 'out', 'none')),
    fresh integer not null default 1,            -- 0: context, read before
    sender text not null default '',
    kind text not null,
    text text not null default '',
    detail text not null default '',             -- a file's name, a poll's title
    quoted text not null default '',
    edited integer not null default 0,
    at_text text not null default '',
    day text not null default '',
    seconds integer,
    unique (conversation_id, position)
);

create table questions (
    id text primary key,
    kind text not null check (kind in ('conversation', 'permission')),
    conversation_id text references conversations (id),
    round_id text,
    question text not null,
    draft text not null default '',
    state text not null default 'open' check (state in ('open', 'answered', 'expired')),
    answer text not null default '',
    answered_by text not null default '',
    asked_at text not null,
    answered_at text
);

create table outbox (
    id text primary key,
    key text unique,
    channel text not null,
    recipient text not null,
    kind text not null,
    payload text not null,
    origin text not null default '{}',
    state text not null default 'queued'
        check (state in ('queued', 'attempted', 'delivered', 'rejected', 'unknown', 'not_attempted')),
    reason text not null default '',
    receipt text not null default '',
    created_at text not null,
    closed_at text
);
create index outbox_state on outbox (channel, state, created_at);

create table outbox_parts (
    message_id text not null references outbox (id),
    position integer not null,
    payload text not null,
    state text not null default 'queued'
        check (state in ('queued', 'attempted', 'delivered', 'rejected', 'unknown', 'not_attempted')),
    reason text not null default '',
    receipt text not null default '',
    attempts integer not null default 0,
    not_before text,
    attempted_at text,
    primary key (message_id, position)
);

create table messages (
    id integer primary key,
    thread text not null,
    channel text not null,
    author text not null,                        -- owner, agent, or a name
    role text not null check (role in ('user', 'assistant', 'note')),
    text text not null,
    run_id text,
    at text not null,
    meta text not null default '{}'
);
create index messages_thread on messages (thread, id);

create table runs (
    id text primary key,
    project_id text not null references projects (id),
    parent_id text references runs (id),
    channel text not null,
    thread text not null default '',
    sender text not null,
    status text not null,
    text text not null default '',
    target text not null default '',
    selected_by text not null default '',
    error_kind text not null default '',
    tokens_in integer not null default 0,
    tokens_out integer not null default 0,
    cost_micros integer not null default 0,
    started_at text not null,
    closed_at text
);
create index runs_started on runs (started_at desc);

create table run_steps (
    id integer primary key,
    run_id text not null references runs (id),
    at text not null,
    kind text not null,                          -- request, reply, failure, tool, note
    body text not null
);
create index run_steps_run on run_steps (run_id, id);

create table media (
    id text primary key,
    path text not null,
    name text not null,
    kind text not null,
    mime text not null,
    size integer not null,
    sha256 text not null,
    direction text not null check (direction in ('in', 'out')),
    run_id text,
    created_at text not null
);

create table clients (
    id text primary key,
    label text not null,
    scope text not null check (scope in ('client', 'bridge', 'agent')),
    project_id text not null default 'default',
    token_hash text not null unique,
    created_at text not null,
    last_seen_at text,
    revoked_at text
);

create table pairings (
    id text primary key,
    scope text not null,
    project_id text not null,
    code_hash text not null,
    label text not null default '',
    expires_at text not null,
    confirmed_at text
);

create table telegram_updates (
    bot_id integer not null,
    update_id integer not null,
    body text not null,
    state text not null default 'waiting' check (state in ('waiting', 'working', 'done', 'failed', 'ignored')),
    tries integer not null default 0,
    received_at text not null,
    closed_at text,
    primary key (bot_id, update_id)
);

create table secrets (
    name text primary key, owner text not null, nonce blob not null, ciphertext blob not null, created_at text not null
);

create table settings (key text primary key, value text not null);
