-- +goose Up
-- One row per team: the last numbers assigned. Transactions that write assets of a team lock this row,
-- so that changes become visible in the order of their numbers. The team's number is the upper half of
-- its assets' ids.
CREATE TABLE asset_log (
	team_id  TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	team_no  BIGINT NOT NULL UNIQUE,
	last_no  BIGINT NOT NULL,
	last_rev BIGINT NOT NULL
);
CREATE TABLE asset_team (
	one  BIGINT PRIMARY KEY,
	last BIGINT NOT NULL
);

-- The enumerations, with what the inventory needs of them.
CREATE TABLE asset_enumeration (
	id      TEXT PRIMARY KEY,
	team_id TEXT NOT NULL,
	rev     BIGINT NOT NULL,
	name    TEXT NOT NULL,
	source  TEXT NOT NULL,                   -- source_type of its assets
	run     BIGINT NOT NULL                  -- the latest
);
CREATE INDEX asset_enumeration_of ON asset_enumeration (team_id, rev);

CREATE TABLE asset_run (
	enumeration_id TEXT NOT NULL,
	run            BIGINT NOT NULL,
	team_id        TEXT NOT NULL,
	started_at     BIGINT NOT NULL,
	ended_at       BIGINT,
	covered        BOOLEAN NOT NULL DEFAULT FALSE, -- it looked at everything
	found          BIGINT NOT NULL DEFAULT 0,      -- assets it saw first
	changed        BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (enumeration_id, run)
);
CREATE INDEX asset_run_of ON asset_run (team_id);

-- The columns of lists, at present (docs/adr/0019-lists-from-the-database.md). Columns with several
-- values separate them by line feeds.
CREATE TABLE asset (
	team_id          TEXT NOT NULL,
	no               BIGINT NOT NULL,        -- of the team, in the order of arrival
	rev              BIGINT NOT NULL,        -- of the team, of the last change or sighting
	enumeration_id   TEXT NOT NULL,
	hash             TEXT NOT NULL,          -- of host, port and protocol
	host             TEXT NOT NULL,          -- lower case
	port             BIGINT NOT NULL,        -- 0: the host by itself
	protocol         TEXT NOT NULL,
	first_run        BIGINT NOT NULL,
	run              BIGINT NOT NULL,        -- that saw it last
	created_at       BIGINT NOT NULL,
	since            BIGINT NOT NULL,        -- when it became as it is
	seen_at          BIGINT NOT NULL,
	is_missing       BOOLEAN NOT NULL,       -- a later run that covered everything did not see it
	is_internal      BOOLEAN NOT NULL,
	status_code      BIGINT NOT NULL,
	content_length   BIGINT NOT NULL,
	title            TEXT NOT NULL,
	service          TEXT NOT NULL,
	webserver        TEXT NOT NULL,
	domain           TEXT NOT NULL,
	ip               TEXT NOT NULL,
	cname            TEXT NOT NULL,
	technologies     TEXT NOT NULL,
	favicon          TEXT NOT NULL,
	labels           TEXT NOT NULL,
	tls              TEXT NOT NULL,          -- what is wrong with its certificate
	certificate      TEXT NOT NULL,          -- serial number
	misconfiguration TEXT NOT NULL,          -- kinds
	endpoints        BIGINT NOT NULL,        -- how many were crawled
	screenshot       TEXT NOT NULL,          -- digest of the PNG
	facts            TEXT NOT NULL,          -- hash of what makes a change when it changes
	whole            TEXT NOT NULL,          -- hash of the document
	doc              BIGINT NOT NULL,        -- rev of its document
	PRIMARY KEY (team_id, no),
	UNIQUE (enumeration_id, hash)
);
CREATE INDEX asset_rev ON asset (team_id, rev);

-- Past versions of assets, each until a time: with the table above, any list as of any date.
CREATE TABLE asset_past (
	until            BIGINT NOT NULL,
	until_rev        BIGINT NOT NULL,
	team_id          TEXT NOT NULL,
	no               BIGINT NOT NULL,
	rev              BIGINT NOT NULL,
	enumeration_id   TEXT NOT NULL,
	hash             TEXT NOT NULL,
	host             TEXT NOT NULL,
	port             BIGINT NOT NULL,
	protocol         TEXT NOT NULL,
	first_run        BIGINT NOT NULL,
	run              BIGINT NOT NULL,
	created_at       BIGINT NOT NULL,
	since            BIGINT NOT NULL,
	seen_at          BIGINT NOT NULL,
	is_missing       BOOLEAN NOT NULL,
	is_internal      BOOLEAN NOT NULL,
	status_code      BIGINT NOT NULL,
	content_length   BIGINT NOT NULL,
	title            TEXT NOT NULL,
	service          TEXT NOT NULL,
	webserver        TEXT NOT NULL,
	domain           TEXT NOT NULL,
	ip               TEXT NOT NULL,
	cname            TEXT NOT NULL,
	technologies     TEXT NOT NULL,
	favicon          TEXT NOT NULL,
	labels           TEXT NOT NULL,
	tls              TEXT NOT NULL,
	certificate      TEXT NOT NULL,
	misconfiguration TEXT NOT NULL,
	endpoints        BIGINT NOT NULL,
	screenshot       TEXT NOT NULL,
	facts            TEXT NOT NULL,
	whole            TEXT NOT NULL,
	doc              BIGINT NOT NULL,
	PRIMARY KEY (team_id, no, until_rev)
);
CREATE INDEX asset_past_of ON asset_past (team_id, enumeration_id, until);

-- What was observed, as JSON (discover.Asset), in its own table so that the rows above stay small.
CREATE TABLE asset_doc (
	team_id TEXT NOT NULL,
	no      BIGINT NOT NULL,
	rev     BIGINT NOT NULL,
	doc     $BYTES NOT NULL,
	PRIMARY KEY (team_id, no, rev)
);

CREATE TABLE asset_change (
	team_id TEXT NOT NULL,
	rev     BIGINT NOT NULL,
	no      BIGINT NOT NULL,
	type    TEXT NOT NULL,
	at      BIGINT NOT NULL,
	actor   TEXT NOT NULL,                   -- an email; empty: the service
	fields  $BYTES NOT NULL,                 -- JSON: [{name, from, to}]
	PRIMARY KEY (team_id, no, rev)
);

-- Deleted assets; kept for a day. A deleted enumeration has one row with the number 0.
CREATE TABLE asset_gone (
	team_id        TEXT NOT NULL,
	rev            BIGINT NOT NULL,
	no             BIGINT NOT NULL,
	enumeration_id TEXT NOT NULL,
	at             BIGINT NOT NULL,
	PRIMARY KEY (team_id, rev, no, enumeration_id)
);

CREATE TABLE asset_group (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name       TEXT NOT NULL,
	filters    $JSON NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX asset_group_of ON asset_group (team_id, id);

CREATE TABLE asset_policy (
	id          TEXT PRIMARY KEY,
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name        TEXT NOT NULL,
	type        TEXT NOT NULL,
	filters     $JSON NOT NULL,
	details     $JSON NOT NULL,              -- labels, alerting configurations, enumerations, apply_to_existing
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	executed_at BIGINT
);
CREATE INDEX asset_policy_of ON asset_policy (team_id, id);

-- Events of policies: one row per run in which a policy acted.
CREATE TABLE asset_policy_event (
	id             TEXT PRIMARY KEY,
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	policy_id      TEXT NOT NULL REFERENCES asset_policy (id) ON DELETE CASCADE,
	type           TEXT NOT NULL,
	status         TEXT NOT NULL,
	enumeration_id TEXT NOT NULL,
	run            BIGINT NOT NULL,
	affected       BIGINT NOT NULL,
	sample         $JSON NOT NULL,
	config_id      TEXT NOT NULL,            -- of an alert
	note           TEXT NOT NULL,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL,
	UNIQUE (policy_id, enumeration_id, run, type, config_id)
);
CREATE INDEX asset_policy_event_of ON asset_policy_event (policy_id, created_at);

-- +goose Down
DROP TABLE asset_policy_event;
DROP TABLE asset_policy;
DROP TABLE asset_group;
DROP TABLE asset_gone;
DROP TABLE asset_change;
DROP TABLE asset_doc;
DROP TABLE asset_past;
DROP TABLE asset;
DROP TABLE asset_run;
DROP TABLE asset_enumeration;
DROP TABLE asset_team;
DROP TABLE asset_log;
