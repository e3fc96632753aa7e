-- Where the owner was when the assistant handed a job over, as JSON (channel, to, thread): its note goes there, once.
alter table jobs add column origin text not null default '';
create index jobs_closed on jobs (closed_at);
