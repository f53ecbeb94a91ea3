"""The tables of `jobs.sqlite`."""

from __future__ import annotations

FORM = 3
"""Of the tables, as the file says it in `user_version`."""
SCHEMA = f"""
create table if not exists jobs (
    number integer primary key,
    id text not null unique,
    owner text not null,
    key text not null,
    state text not null,
    tries integer not null default 0,
    priority integer not null,
    submitted real not null,
    started real,
    finished real,
    title text not null,
    status text,
    size integer not null,
    error text,
    request text not null,
    result text
);
create table if not exists room (bytes blob);
create index if not exists jobs_key on jobs (owner, key);
create index if not exists jobs_owner on jobs (owner, number);
create index if not exists jobs_state on jobs (state, priority desc, number, owner, id);
pragma user_version = {FORM};
"""
