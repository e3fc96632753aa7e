-- What happened in a chat and asks for no answer (a reaction): the next turn there is told, once.
create table telegram_heard (
    id integer primary key,
    channel text not null,
    address text not null,
    note text not null,
    at text not null
);
create index telegram_heard_address on telegram_heard (channel, address);

-- Topics that are gone: what is meant for them goes to the chat itself.
create table telegram_topics_gone (
    channel text not null,
    address text not null,
    at text not null,
    primary key (channel, address)
);
