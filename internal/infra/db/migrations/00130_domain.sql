-- +goose Up
-- Domains that teams claim, with the state of their verification.
CREATE TABLE domain (
	id              TEXT PRIMARY KEY,
	team_id         TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	domain          TEXT NOT NULL,
	type            TEXT NOT NULL,             -- dns_text_record, html_meta_tag or file_upload
	token           TEXT NOT NULL,             -- that is to be shown
	status          TEXT NOT NULL,             -- pending, verified, expired, failed or deleted
	attempts        BIGINT NOT NULL DEFAULT 0,
	misses          BIGINT NOT NULL DEFAULT 0, -- looks in a row that did not see the proof of a verified domain
	note            TEXT NOT NULL DEFAULT '',  -- what the last look found, in words
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	last_attempt_at BIGINT,
	verified_at     BIGINT,
	next_look_at    BIGINT                     -- NULL: nobody looks by itself any more
);
CREATE UNIQUE INDEX domain_of_team ON domain (team_id, domain) WHERE status <> 'deleted';
CREATE INDEX domain_due ON domain (next_look_at);

-- Searches for associated domains.
CREATE TABLE domain_search (
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	domain      TEXT NOT NULL,             -- registered
	job_id      BIGINT NOT NULL DEFAULT 0,
	run         BIGINT NOT NULL,           -- how often it was begun: what an earlier run writes is refused
	started_at  BIGINT NOT NULL,
	asked_at    BIGINT NOT NULL,           -- by somebody, last
	finished_at BIGINT,                    -- NULL: it is under way
	PRIMARY KEY (team_id, domain)
);
CREATE INDEX domain_search_age ON domain_search (finished_at);

-- The last results of each source, kept while later runs get no answer.
CREATE TABLE domain_answer (
	team_id    TEXT NOT NULL,
	domain     TEXT NOT NULL,
	place      TEXT NOT NULL,             -- such as crtsh
	source     TEXT NOT NULL,             -- such as certificate_history
	state      TEXT NOT NULL,             -- of the last run
	count      BIGINT NOT NULL,           -- of the last run
	detail     TEXT NOT NULL,
	took_us    BIGINT NOT NULL,
	checked_at BIGINT NOT NULL,
	found      $JSON NOT NULL,
	found_at   BIGINT,                    -- NULL: it never answered
	PRIMARY KEY (team_id, domain, place),
	FOREIGN KEY (team_id, domain) REFERENCES domain_search (team_id, domain) ON DELETE CASCADE
);

-- The number of results of each run, to know the usual number, and an alert while it is far lower.
CREATE TABLE domain_answer_run (
	team_id TEXT NOT NULL,
	domain  TEXT NOT NULL,
	place   TEXT NOT NULL,
	run     BIGINT NOT NULL,
	state   TEXT NOT NULL,
	count   BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (team_id, domain, place, run),
	FOREIGN KEY (team_id, domain) REFERENCES domain_search (team_id, domain) ON DELETE CASCADE
);
CREATE TABLE domain_source_alert (
	id        TEXT PRIMARY KEY,
	team_id   TEXT NOT NULL,
	domain    TEXT NOT NULL,
	place     TEXT NOT NULL,
	state     TEXT NOT NULL,
	count     BIGINT NOT NULL,
	usual     BIGINT NOT NULL,            -- the median of the runs before
	opened_at BIGINT NOT NULL,
	closed_at BIGINT,                     -- NULL: it is so still
	FOREIGN KEY (team_id, domain) REFERENCES domain_search (team_id, domain) ON DELETE CASCADE
);
CREATE INDEX domain_source_alert_of ON domain_source_alert (team_id, domain, place);

-- Requests to the web sites of associated domains.
CREATE TABLE domain_probe (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	domain     TEXT NOT NULL,
	seen       $JSON NOT NULL,
	checked_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, domain)
);

-- +goose Down
DROP TABLE domain_probe;
DROP TABLE domain_source_alert;
DROP TABLE domain_answer_run;
DROP TABLE domain_answer;
DROP TABLE domain_search;
DROP INDEX domain_due;
DROP INDEX domain_of_team;
DROP TABLE domain;
