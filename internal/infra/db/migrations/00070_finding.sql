-- +goose Up
-- One row per team: the last numbers assigned. Transactions that write findings of a team lock this
-- row, so that changes become visible in the order of their numbers.
CREATE TABLE finding_log (
	team_id  TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	last_no  BIGINT NOT NULL,
	last_rev BIGINT NOT NULL
);

-- The columns of lists (docs/adr/0019-lists-from-the-database.md). This table and those below have no
-- foreign keys, which would cost a look-up for each imported row.
CREATE TABLE finding (
	team_id       TEXT NOT NULL,
	no            BIGINT NOT NULL,         -- of the team, in the order of arrival
	rev           BIGINT NOT NULL,         -- of the team, of the last change
	id            TEXT NOT NULL UNIQUE,    -- 16 letters of the hash, 10 of the scan: seen again it is the same row
	scan_id       TEXT NOT NULL,
	hash          TEXT NOT NULL,           -- of what was found where, the same in all scans
	run           BIGINT NOT NULL,         -- the run of the scan that saw it last
	severity      TEXT NOT NULL,
	status        TEXT NOT NULL,
	template_id   TEXT NOT NULL,
	name          TEXT NOT NULL,
	host          TEXT NOT NULL,           -- lower case, without port
	port          BIGINT NOT NULL,         -- 0: none
	categories    TEXT NOT NULL,           -- each of these three: words joined by commas
	tags          TEXT NOT NULL,
	labels        TEXT NOT NULL DEFAULT '',
	is_internal   BOOLEAN NOT NULL,
	is_regression BOOLEAN NOT NULL DEFAULT FALSE,
	is_ticket     BOOLEAN NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	seen_at       BIGINT NOT NULL,
	PRIMARY KEY (team_id, no)
);
CREATE INDEX finding_rev ON finding (team_id, rev);

-- What only a single finding shows, in its own table so that the rows above stay small.
CREATE TABLE finding_doc (
	team_id  TEXT NOT NULL,
	no       BIGINT NOT NULL,
	event    $BYTES NOT NULL,              -- JSON: the event without request and response, and where it came from
	exchange $BYTES NOT NULL,              -- JSON: request, response, encoded template
	PRIMARY KEY (team_id, no)
);

-- Deleted findings; kept for a day.
CREATE TABLE finding_gone (
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	rev     BIGINT NOT NULL,
	no      BIGINT NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (team_id, rev, no)
);

-- The number of findings of a scan by severity, updated with each change.
CREATE TABLE finding_tally (
	scan_id  TEXT NOT NULL,
	severity TEXT NOT NULL,
	total    BIGINT NOT NULL,
	PRIMARY KEY (scan_id, severity)
);

CREATE TABLE finding_change (
	team_id    TEXT NOT NULL,
	seq        BIGINT NOT NULL,            -- a rev of the team
	no         BIGINT NOT NULL,
	type       TEXT NOT NULL,
	field      TEXT NOT NULL,
	old_value  TEXT NOT NULL,
	new_value  TEXT NOT NULL,
	actor      TEXT NOT NULL,              -- an email; empty: the service
	at         BIGINT NOT NULL,
	PRIMARY KEY (team_id, seq, no)
);
CREATE INDEX finding_change_of ON finding_change (team_id, no, seq);
CREATE INDEX finding_change_type ON finding_change (team_id, type, seq);

-- Retests of a finding and their results.
CREATE TABLE finding_retest (
	team_id TEXT NOT NULL,
	no      BIGINT NOT NULL,
	n       BIGINT NOT NULL,
	state   TEXT NOT NULL,                 -- queued, matched, not_matched, failed
	note    TEXT NOT NULL DEFAULT '',
	asked_at BIGINT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (team_id, no, n)
);

-- +goose Down
DROP TABLE finding_retest;
DROP TABLE finding_change;
DROP TABLE finding_tally;
DROP TABLE finding_gone;
DROP TABLE finding_doc;
DROP TABLE finding;
DROP TABLE finding_log;
