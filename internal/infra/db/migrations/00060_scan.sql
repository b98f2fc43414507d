-- +goose Up
CREATE TABLE scan (
	id             TEXT PRIMARY KEY,          -- 20 of [0-9a-v]: later scans sort later
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id        TEXT NOT NULL,
	name           TEXT NOT NULL,
	status         TEXT NOT NULL,
	failure_reason TEXT NOT NULL DEFAULT '',
	run            BIGINT NOT NULL DEFAULT 0, -- how often it was launched; what an earlier run writes is refused
	is_oss         BOOLEAN NOT NULL,          -- its results were uploaded
	is_automatic   BOOLEAN NOT NULL,
	is_internal    BOOLEAN NOT NULL,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX scan_of_team ON scan (team_id, created_at, id);
CREATE INDEX scan_status ON scan (team_id, status, created_at, id);

-- The configuration of a scan, in its own table so that the rows above stay small.
CREATE TABLE scan_config (
	scan_id TEXT PRIMARY KEY REFERENCES scan (id) ON DELETE CASCADE,
	config  $JSON NOT NULL,
	targets $JSON NOT NULL
);

-- One row per run of a scan.
CREATE TABLE scan_run (
	scan_id         TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run             BIGINT NOT NULL,
	team_id         TEXT NOT NULL,
	job_id          BIGINT NOT NULL DEFAULT 0, -- that plans it
	status          TEXT NOT NULL,
	failure_reason  TEXT NOT NULL DEFAULT '',
	templates       $JSON NOT NULL,            -- ids, in the order of the ledger
	total_target    BIGINT NOT NULL DEFAULT 0,
	total_template  BIGINT NOT NULL DEFAULT 0,
	total_cell      BIGINT NOT NULL DEFAULT 0, -- targets × templates
	done_cell       BIGINT NOT NULL DEFAULT 0,
	total_request   BIGINT NOT NULL DEFAULT 0, -- planned
	done_request    BIGINT NOT NULL DEFAULT 0, -- sent by chunks that ended
	open_chunk      BIGINT NOT NULL DEFAULT 0,
	failed_chunk    BIGINT NOT NULL DEFAULT 0,
	severity        $JSON,                     -- what the scan had found when the run ended
	created_at      BIGINT NOT NULL,
	started_at      BIGINT,
	ended_at        BIGINT,
	PRIMARY KEY (scan_id, run)
);
CREATE INDEX scan_run_of_team ON scan_run (team_id, created_at);

CREATE TABLE scan_chunk (
	scan_id        TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run            BIGINT NOT NULL,
	n              BIGINT NOT NULL,
	job_id         BIGINT NOT NULL DEFAULT 0,
	state          TEXT NOT NULL,              -- waiting, running, done, failed, stopped
	token          BIGINT NOT NULL DEFAULT 0,  -- grows with each start: a late worker's writes are refused
	targets        $JSON NOT NULL,
	first_template BIGINT NOT NULL,            -- of the run's templates
	last_template  BIGINT NOT NULL,            -- behind the last
	cells          BIGINT NOT NULL,
	done           BIGINT NOT NULL DEFAULT 0,
	ledger         $BYTES,                     -- how each cell ended; NULL: it did not
	PRIMARY KEY (scan_id, run, n)
);

CREATE TABLE scan_schedule (
	scan_id          TEXT PRIMARY KEY REFERENCES scan (id) ON DELETE CASCADE,
	team_id          TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id          TEXT NOT NULL,
	frequency        TEXT NOT NULL,
	start_time       TEXT NOT NULL,            -- HH:MM or HH:MM:SS; empty: the time of set_at
	hourly_frequency BIGINT NOT NULL,
	weekdays         TEXT NOT NULL,
	cron             TEXT NOT NULL,
	time_zone        TEXT NOT NULL,
	set_at           BIGINT NOT NULL,
	last_run         BIGINT,
	next_run         BIGINT NOT NULL
);
CREATE INDEX scan_schedule_due ON scan_schedule (next_run);
CREATE INDEX scan_schedule_of_team ON scan_schedule (team_id);

CREATE TABLE scan_exclusion (
	id             BIGINT NOT NULL,            -- of the team
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	value          TEXT NOT NULL,
	exclude_type   TEXT NOT NULL,
	scan_id        TEXT NOT NULL DEFAULT '',   -- empty: all scans
	enumeration_id TEXT NOT NULL DEFAULT '',
	created_at     BIGINT NOT NULL,
	PRIMARY KEY (team_id, id),
	UNIQUE (team_id, exclude_type, value, scan_id, enumeration_id)
);

-- +goose Down
DROP TABLE scan_exclusion;
DROP TABLE scan_schedule;
DROP TABLE scan_chunk;
DROP TABLE scan_run;
DROP TABLE scan_config;
DROP TABLE scan;
