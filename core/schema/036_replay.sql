-- When the steps and messages of a round were removed, because the owner's days for them had passed.
alter table rounds add column replay_ended_at text;
create index round_steps_round on round_steps (round_id);
create index conversations_run on conversations (run_id);
