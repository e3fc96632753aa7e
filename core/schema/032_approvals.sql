-- What waits for the owner's yes. The row is there before anybody is asked; the first answer changes `state`, once.
create table approvals (
    id text primary key,
    run_id text not null,
    project_id text not null default 'default',
    channel text not null,
    thread text not null default '',
    agent text not null default '',
    tool text not null,
    effect text not null default '',
    risk text not null default '',
    why text not null default '',
    args text not null,                          -- JSON, complete
    shown text not null,                         -- what the owner reads: all of it, nothing invisible
    summary text not null,
    warnings text not null default '[]',
    cwd text not null default '',
    digest text not null default '',             -- of arguments, folder and files, as they were shown
    grant_key text not null default '',          -- empty: "always" is not offered
    state text not null default 'open' check (state in ('open', 'approved', 'denied', 'expired')),
    decision text not null default '',           -- approve, always, deny, expired
    decided_by text not null default '',
    note text not null default '',
    asked_at text not null,
    expires_at text not null,
    decided_at text
);
create index approvals_state on approvals (state, asked_at);

-- "Always in this project": exactly this call (a tool, or one command line), never an interpreter, never a message.
create table approval_grants (
    project_id text not null,
    tool text not null,
    grant_key text not null,
    approval_id text not null,
    granted_by text not null,
    granted_at text not null,
    primary key (project_id, tool, grant_key)
);
