-- A message may hold several choices, one to a line: a press takes its line and leaves the others.
alter table telegram_buttons add column line integer not null default 0;
alter table telegram_buttons add column label text not null default '';
