-- +goose Up
CREATE TABLE leak_key ( -- one row: what keys the hashes of leaks, sealed
	one    BIGINT PRIMARY KEY,
	sealed $BYTES NOT NULL
);

CREATE TABLE leak_list ( -- a breach list that an operator loaded
	id        TEXT PRIMARY KEY,
	name      TEXT NOT NULL UNIQUE,
	loaded_at BIGINT NOT NULL
);

CREATE TABLE leak (
	id         TEXT PRIMARY KEY,   -- a keyed hash of its line
	sealed     $BYTES NOT NULL,    -- the line
	log_date   BIGINT NOT NULL,    -- 0: the list does not say
	fetched_at BIGINT NOT NULL
);

CREATE TABLE leak_in_list (
	list_id TEXT NOT NULL REFERENCES leak_list (id) ON DELETE CASCADE,
	leak_id TEXT NOT NULL REFERENCES leak (id) ON DELETE CASCADE,
	PRIMARY KEY (leak_id, list_id)
);
CREATE INDEX leak_in_list_of_list ON leak_in_list (list_id);

CREATE TABLE leak_name ( -- under what a leak is looked up: a keyed hash of an address or of a registered domain
	hash    TEXT NOT NULL,
	leak_id TEXT NOT NULL REFERENCES leak (id) ON DELETE CASCADE,
	PRIMARY KEY (hash, leak_id)
);
CREATE INDEX leak_name_of_leak ON leak_name (leak_id);

CREATE TABLE leak_status ( -- what a team decided
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	leak_id    TEXT NOT NULL REFERENCES leak (id) ON DELETE CASCADE,
	status     TEXT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, leak_id)
);
CREATE INDEX leak_status_of_leak ON leak_status (leak_id);

-- +goose Down
DROP TABLE leak_status;
DROP TABLE leak_name;
DROP TABLE leak_in_list;
DROP TABLE leak;
DROP TABLE leak_list;
DROP TABLE leak_key;
