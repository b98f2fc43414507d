-- +goose Up
CREATE TABLE enumeration (
	id             TEXT PRIMARY KEY,          -- 20 of [0-9a-v]: later ones sort later
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id        TEXT NOT NULL,
	name           TEXT NOT NULL,
	enum_type      TEXT NOT NULL,             -- discovery or cloud
	status         TEXT NOT NULL,
	failure_reason TEXT NOT NULL DEFAULT '',
	run            BIGINT NOT NULL DEFAULT 0, -- how often it was launched; what an earlier run writes is refused
	is_internal    BOOLEAN NOT NULL,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX enumeration_of_team ON enumeration (team_id, created_at, id);

-- The configuration of an enumeration, in its own table so that the rows above stay small.
CREATE TABLE enumeration_config (
	enumeration_id TEXT PRIMARY KEY REFERENCES enumeration (id) ON DELETE CASCADE,
	config         $JSON NOT NULL,
	inputs         $JSON NOT NULL,            -- hosts, addresses, ranges and URLs, as they were given
	input          BIGINT NOT NULL            -- how many
);

-- One row per run of an enumeration.
CREATE TABLE enumeration_run (
	enumeration_id TEXT NOT NULL REFERENCES enumeration (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	team_id        TEXT NOT NULL,
	job_id         BIGINT NOT NULL DEFAULT 0, -- that plans it
	status         TEXT NOT NULL,
	failure_reason TEXT NOT NULL DEFAULT '',
	total_name     BIGINT NOT NULL DEFAULT 0, -- hosts that were found and are to be looked at
	done_name      BIGINT NOT NULL DEFAULT 0, -- of which this many were
	new_asset      BIGINT NOT NULL DEFAULT 0, -- first seen in this run
	denial         BIGINT NOT NULL DEFAULT 0, -- dials that the scope refused
	chunk          BIGINT NOT NULL DEFAULT 0, -- the number of the next chunk
	open_chunk     BIGINT NOT NULL DEFAULT 0,
	failed_chunk   BIGINT NOT NULL DEFAULT 0,
	created_at     BIGINT NOT NULL,
	started_at     BIGINT,
	ended_at       BIGINT,
	PRIMARY KEY (enumeration_id, run)
);
CREATE INDEX enumeration_run_of_team ON enumeration_run (team_id, created_at);

CREATE TABLE enumeration_chunk (
	enumeration_id TEXT NOT NULL REFERENCES enumeration (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	n              BIGINT NOT NULL,
	job_id         BIGINT NOT NULL DEFAULT 0,
	stage          TEXT NOT NULL,             -- names or hosts
	state          TEXT NOT NULL,             -- waiting, running, done, failed, stopped
	token          BIGINT NOT NULL DEFAULT 0, -- grows with each start: a late worker's writes are refused
	input          $JSON NOT NULL,            -- of names: what to look for names in
	names          BIGINT NOT NULL DEFAULT 0, -- of hosts: how many it looks at
	PRIMARY KEY (enumeration_id, run, n)
);

-- The hosts that a run found, each once; deleted when the run has ended.
CREATE TABLE enumeration_name (
	enumeration_id TEXT NOT NULL REFERENCES enumeration (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	host           TEXT NOT NULL,
	n              BIGINT NOT NULL,           -- the chunk of hosts that looks at it
	name           $JSON NOT NULL,            -- what DNS says of it
	PRIMARY KEY (enumeration_id, run, host)
);
CREATE INDEX enumeration_name_of_chunk ON enumeration_name (enumeration_id, run, n);

-- The state of each source in each run.
CREATE TABLE enumeration_source (
	enumeration_id TEXT NOT NULL REFERENCES enumeration (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	source         TEXT NOT NULL,
	about          TEXT NOT NULL,
	state          TEXT NOT NULL,
	found          BIGINT NOT NULL,
	took           BIGINT NOT NULL,           -- nanoseconds
	detail         TEXT NOT NULL,
	at             BIGINT NOT NULL,
	PRIMARY KEY (enumeration_id, run, source, about)
);

-- Events of a run for people: refused dials, failed sources.
CREATE TABLE enumeration_event (
	enumeration_id TEXT NOT NULL REFERENCES enumeration (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	kind           TEXT NOT NULL,             -- denied or source
	subject        TEXT NOT NULL,             -- the address that was dialled, or the source
	detail         TEXT NOT NULL,
	times          BIGINT NOT NULL,
	at             BIGINT NOT NULL,
	PRIMARY KEY (enumeration_id, run, kind, subject, detail)
);

CREATE TABLE enumeration_schedule (
	enumeration_id   TEXT PRIMARY KEY REFERENCES enumeration (id) ON DELETE CASCADE,
	team_id          TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id          TEXT NOT NULL,
	frequency        TEXT NOT NULL,
	start_time       TEXT NOT NULL,
	hourly_frequency BIGINT NOT NULL,
	weekdays         TEXT NOT NULL,
	cron             TEXT NOT NULL,
	time_zone        TEXT NOT NULL,
	set_at           BIGINT NOT NULL,
	last_run         BIGINT,
	next_run         BIGINT NOT NULL
);
CREATE INDEX enumeration_schedule_due ON enumeration_schedule (next_run);
CREATE INDEX enumeration_schedule_of_team ON enumeration_schedule (team_id);

-- Notifications of scans and enumerations: one row per channel and event.
CREATE TABLE notice (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	kind       TEXT NOT NULL,              -- scan or enumeration
	subject_id TEXT NOT NULL,
	run        BIGINT NOT NULL,
	event      TEXT NOT NULL,
	config_id  TEXT NOT NULL,
	channel    BIGINT NOT NULL,            -- its place in the configuration
	provider   TEXT NOT NULL,
	state      TEXT NOT NULL,              -- waiting, sending, sent, failed or dropped
	attempts   BIGINT NOT NULL DEFAULT 0,
	note       TEXT NOT NULL DEFAULT '',   -- why it failed or was dropped
	body       $JSON NOT NULL,             -- what is told, as it was then
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	UNIQUE (kind, subject_id, run, event, config_id, channel)
);
INSERT INTO notice (id, team_id, kind, subject_id, run, event, config_id, channel, provider, state, attempts, note, body, created_at, updated_at)
	SELECT n.id, s.team_id, 'scan', n.scan_id, n.run, n.event, n.config_id, n.channel, n.provider, n.state, n.attempts, n.note, n.body, n.created_at, n.updated_at
	FROM scan_notice n JOIN scan s ON s.id = n.scan_id;
DROP TABLE scan_notice;

-- +goose Down
CREATE TABLE scan_notice (
	id         TEXT PRIMARY KEY,
	scan_id    TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run        BIGINT NOT NULL,
	event      TEXT NOT NULL,
	config_id  TEXT NOT NULL,
	channel    BIGINT NOT NULL,
	provider   TEXT NOT NULL,
	state      TEXT NOT NULL,
	attempts   BIGINT NOT NULL DEFAULT 0,
	note       TEXT NOT NULL DEFAULT '',
	body       $JSON NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	UNIQUE (scan_id, run, event, config_id, channel)
);
INSERT INTO scan_notice (id, scan_id, run, event, config_id, channel, provider, state, attempts, note, body, created_at, updated_at)
	SELECT id, subject_id, run, event, config_id, channel, provider, state, attempts, note, body, created_at, updated_at FROM notice WHERE kind = 'scan';
DROP TABLE notice;
DROP TABLE enumeration_schedule;
DROP TABLE enumeration_event;
DROP TABLE enumeration_source;
DROP TABLE enumeration_name;
DROP TABLE enumeration_chunk;
DROP TABLE enumeration_run;
DROP TABLE enumeration_config;
DROP TABLE enumeration;
