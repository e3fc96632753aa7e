-- What each request cost. `priced` 0: no price is known, so the cost is a floor.
create table spend (
    id integer primary key,
    run_id text not null references runs (id),
    at text not null,
    target text not null,
    purpose text not null default 'turn',
    tokens_in integer not null default 0,
    tokens_out integer not null default 0,
    cost_micros integer not null default 0,
    priced integer not null default 1
);
create index spend_at on spend (at);
create index spend_run on spend (run_id);
alter table runs add column priced integer not null default 1;

-- Models whose account is at its limit; a restart does not forget them.
create table cooldowns (
    target text primary key,
    why text not null default '',
    since text not null,
    until text not null
);
