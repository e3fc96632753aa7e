-- Buttons under Telegram messages: what a press means stays here, Telegram is shown the key.
create table telegram_buttons (
    key text primary key,
    channel text not null,
    chat text not null,
    message_id text not null,                    -- outbox
    position integer not null,
    kind text not null,
    payload text not null,
    made_at text not null,
    pressed_at text,
    pressed_by integer
);
create index telegram_buttons_message on telegram_buttons (message_id);

-- People who wrote and are nobody here: each is told once.
create table telegram_strangers (
    channel text not null,
    user_id integer not null,
    name text not null,
    refused_at text not null,
    primary key (channel, user_id)
);
