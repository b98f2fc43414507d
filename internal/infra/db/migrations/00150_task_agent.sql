-- +goose Up
-- Each instruction of a task, the first and those that continue it, is a stream with its own state,
-- job and events. task.stream_id is the newest.
CREATE TABLE task_stream (
	id           TEXT PRIMARY KEY,
	task_id      TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	turn         BIGINT NOT NULL,            -- 0 for the first instruction
	instruction  TEXT NOT NULL,
	options      $JSON NOT NULL,             -- the further fields of the request
	status       TEXT NOT NULL,
	model        TEXT NOT NULL DEFAULT 'builtin', -- what thinks
	job_id       BIGINT NOT NULL DEFAULT 0,
	run          BIGINT NOT NULL DEFAULT 0,  -- fencing token: grows with each start, a late run's writes are refused
	last_seq     BIGINT NOT NULL DEFAULT 0,
	plan         $JSON,
	pending      $JSON,                      -- what a suspended stream waits for
	summary      TEXT NOT NULL DEFAULT '',
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	started_at   BIGINT,
	completed_at BIGINT,
	UNIQUE (task_id, turn)
);
INSERT INTO task_stream (id, task_id, turn, instruction, options, status, job_id, run, last_seq, plan, summary, created_at, updated_at, started_at, completed_at)
	SELECT stream_id, id, 0, instruction, options, status, job_id, run, last_seq, plan, summary, created_at, updated_at, started_at, completed_at FROM task;

CREATE TABLE stream_event (
	stream_id TEXT NOT NULL REFERENCES task_stream (id) ON DELETE CASCADE,
	seq       BIGINT NOT NULL,
	type      TEXT NOT NULL,
	data      $JSON NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (stream_id, seq)
);
INSERT INTO stream_event (stream_id, seq, type, data, at)
	SELECT t.stream_id, e.seq, e.type, e.data, e.at FROM task_event e JOIN task t ON t.id = e.task_id;
DROP TABLE task_event;

-- The journal: intents and results of steps, in the order of writing.
CREATE TABLE task_entry (
	task_id   TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	seq       BIGINT NOT NULL,
	stream_id TEXT NOT NULL,
	turn      BIGINT NOT NULL,
	branch    TEXT NOT NULL,
	kind      TEXT NOT NULL,
	key       TEXT NOT NULL,
	body      $JSON NOT NULL,
	cost      BIGINT NOT NULL DEFAULT 0,     -- of a model's answer, in millionths of a US dollar
	at        BIGINT NOT NULL,
	PRIMARY KEY (task_id, seq)
);
INSERT INTO task_entry (task_id, seq, stream_id, turn, branch, kind, key, body, at)
	SELECT s.task_id, s.seq, t.stream_id, 0, 'builtin', 'tool_result', 'step/' || s.seq, s.done, coalesce(s.ended_at, s.begun_at)
	FROM task_step s JOIN task t ON t.id = s.task_id WHERE s.done IS NOT NULL;
DROP TABLE task_step;

ALTER TABLE issue ADD COLUMN proof $JSON; -- how to show it again, where no template of the catalogue does

-- Aborted calls of tools and sub-agents.
CREATE TABLE task_stop (
	task_id    TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	target     TEXT NOT NULL,                -- tool or subagent
	call_id    TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (task_id, target, call_id)
);

DROP INDEX task_open;
ALTER TABLE task RENAME COLUMN instruction TO title; -- its first line is shown
ALTER TABLE task ADD COLUMN visibility TEXT NOT NULL DEFAULT 'team';
ALTER TABLE task DROP COLUMN status;
ALTER TABLE task DROP COLUMN options;
ALTER TABLE task DROP COLUMN job_id;
ALTER TABLE task DROP COLUMN run;
ALTER TABLE task DROP COLUMN last_seq;
ALTER TABLE task DROP COLUMN plan;
ALTER TABLE task DROP COLUMN summary;
ALTER TABLE task DROP COLUMN updated_at;
ALTER TABLE task DROP COLUMN started_at;
ALTER TABLE task DROP COLUMN completed_at;

-- Memory of a task, and (with an empty task_id) of a user.
CREATE TABLE task_memory (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,                -- empty for a task's
	task_id    TEXT NOT NULL,
	data       $JSON NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, user_id, task_id)
);

CREATE TABLE secret (
	id                TEXT PRIMARY KEY,
	team_id           TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id           TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	project_id        TEXT NOT NULL,         -- empty: none
	name              TEXT NOT NULL,
	sealed            $BYTES NOT NULL,
	masked            TEXT NOT NULL,
	default_available BOOLEAN NOT NULL,
	created_by_agent  BOOLEAN NOT NULL,
	created_at        BIGINT NOT NULL,
	updated_at        BIGINT NOT NULL,
	UNIQUE (team_id, user_id, project_id, name)
);

-- +goose Down
ALTER TABLE issue DROP COLUMN proof;
DROP TABLE secret;
DROP TABLE task_memory;
DROP TABLE task_stop;
DROP TABLE task_entry;
DROP TABLE stream_event;
DROP TABLE task_stream;
