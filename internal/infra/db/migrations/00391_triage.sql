-- +goose Up
-- Queues are saved selections of findings, in an order of work (package core/triage).
CREATE TABLE triage_queue (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name       TEXT NOT NULL,
	selection  $JSON NOT NULL,
	sort       TEXT NOT NULL,
	position   BIGINT NOT NULL,
	created_by TEXT NOT NULL,              -- an email
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX triage_queue_of ON triage_queue (team_id, position, id);

-- Who looks at a weakness now, for a while.
CREATE TABLE triage_claim (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash       TEXT NOT NULL,              -- the weakness
	finding_id TEXT NOT NULL,
	queue_id   TEXT NOT NULL,
	email      TEXT NOT NULL,
	at         BIGINT NOT NULL,
	until      BIGINT NOT NULL,
	PRIMARY KEY (team_id, hash)
);
CREATE INDEX triage_claim_of ON triage_claim (team_id, queue_id, until);

CREATE TABLE triage_rule (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	name       TEXT NOT NULL,
	position   BIGINT NOT NULL,
	enabled    BOOLEAN NOT NULL,
	version    BIGINT NOT NULL,            -- grows when what it matches or sets changes
	rule       $JSON NOT NULL,             -- what it matches and sets
	applied    BIGINT NOT NULL DEFAULT 0,  -- to how many weaknesses
	applied_at BIGINT,
	created_by TEXT NOT NULL,              -- an email
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX triage_rule_of ON triage_rule (team_id, position, id);

-- What rules did: the audit, and why a rule leaves a weakness alone that it was applied to.
CREATE TABLE triage_application (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	seq        BIGINT NOT NULL,            -- of the team
	rule_id    TEXT NOT NULL,
	rule_name  TEXT NOT NULL,              -- as it was then
	version    BIGINT NOT NULL,
	hash       TEXT NOT NULL,              -- the weakness
	finding_id TEXT NOT NULL,
	batch      TEXT NOT NULL,              -- what one transaction did
	effects    $JSON NOT NULL,
	actor      TEXT NOT NULL,              -- an email: who ran the rules; empty: something arrived
	at         BIGINT NOT NULL,
	PRIMARY KEY (team_id, seq)
);
CREATE INDEX triage_application_of ON triage_application (team_id, hash, rule_id);
CREATE INDEX triage_application_by ON triage_application (team_id, rule_id, seq);
CREATE INDEX triage_application_batch ON triage_application (team_id, batch);

-- How far the rules of a team have looked: at findings by number, and at the change log by revision.
CREATE TABLE triage_progress (
	team_id   TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	has_rules BOOLEAN NOT NULL,            -- enabled ones
	last_no   BIGINT NOT NULL,
	last_rev  BIGINT NOT NULL,
	last_seq  BIGINT NOT NULL DEFAULT 0,   -- of triage_application
	queued_at BIGINT                       -- when the job was queued; NULL: none waits
);

CREATE TABLE triage_suggestion (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash       TEXT NOT NULL,              -- the weakness
	finding_id TEXT NOT NULL,
	field      TEXT NOT NULL,              -- vuln_status or severity
	value      TEXT NOT NULL,
	reason     TEXT NOT NULL,
	confidence BIGINT NOT NULL,            -- percent
	source     TEXT NOT NULL,              -- builtin or model
	by_what    TEXT NOT NULL,              -- the built-in rule, or the model
	state      TEXT NOT NULL,              -- open, accepted, dismissed or outdated
	ended_by   TEXT NOT NULL DEFAULT '',   -- an email, or the name of a rule
	created_at BIGINT NOT NULL,
	ended_at   BIGINT
);
CREATE UNIQUE INDEX triage_suggestion_open ON triage_suggestion (team_id, hash, field, source) WHERE state = 'open';
CREATE INDEX triage_suggestion_of ON triage_suggestion (team_id, state, id);

-- +goose Down
DROP TABLE triage_suggestion;
DROP TABLE triage_progress;
DROP TABLE triage_application;
DROP TABLE triage_rule;
DROP TABLE triage_claim;
DROP TABLE triage_queue;
