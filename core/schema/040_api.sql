-- What an alert was answered, so that the same key gets the same answer; and whose token posted it.
alter table alerts add column answered text not null default 'accepted';
alter table alerts add column client_id text;

-- Wrong codes against one pairing; it closes after a few.
alter table pairings add column misses integer not null default 0;
