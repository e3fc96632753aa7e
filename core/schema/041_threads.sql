-- What a conversation is called: by the first words of its first question, by a model, or by the owner (that one stays).
create table threads (
    thread text primary key,
    title text not null,
    titled_by text not null check (titled_by in ('words', 'model', 'owner')),
    titled_at text not null
);
