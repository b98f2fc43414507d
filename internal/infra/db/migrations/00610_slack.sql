-- +goose Up
-- Workspaces of Slack. A team has one at most.
CREATE TABLE slack_workspace (
	id              TEXT PRIMARY KEY,
	team_id         TEXT UNIQUE REFERENCES team (id) ON DELETE CASCADE,  -- NULL: nobody has claimed it
	slack_team      TEXT NOT NULL UNIQUE,    -- Slack's id
	slack_name      TEXT NOT NULL,
	enterprise_id   TEXT NOT NULL,
	enterprise_name TEXT NOT NULL,
	bot_user        TEXT NOT NULL,           -- Slack's id of the app's bot
	own_app         BOOLEAN NOT NULL,        -- an app of the team's, and not the operator's
	status          TEXT NOT NULL,           -- active, pending_unclaimed, revoked_external, disconnected_by_user
	token           $BYTES,                  -- sealed; NULL: it has ended
	signing_secret  $BYTES,                  -- sealed; NULL: the operator's app
	setup_hash      TEXT NOT NULL,           -- of the token that claims it
	setup_until     BIGINT,
	error           TEXT NOT NULL,           -- of the last call that failed; '': the last one went well
	created_at      BIGINT NOT NULL
);

-- Threads in which a task is talked about.
CREATE TABLE slack_thread (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	slack_team TEXT NOT NULL,
	channel    TEXT NOT NULL,
	thread_ts  TEXT NOT NULL,                -- of its first message
	task_id    TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,                -- who began it
	slack_user TEXT NOT NULL,                -- the same at Slack
	UNIQUE (team_id, slack_team, channel, thread_ts)
);
CREATE INDEX slack_thread_task ON slack_thread (task_id);

-- What Slack sent, by its id.
CREATE TABLE slack_event (
	id      TEXT PRIMARY KEY,
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	done    BOOLEAN NOT NULL,                -- what it asks for is in the database
	at      BIGINT NOT NULL
);
CREATE INDEX slack_event_at ON slack_event (at);
CREATE INDEX slack_event_team ON slack_event (team_id);

-- What is written at Slack.
CREATE TABLE slack_message (
	id         TEXT PRIMARY KEY,             -- uuid v7: later ones sort later
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	slack_team TEXT NOT NULL,
	channel    TEXT NOT NULL,
	thread_ts  TEXT NOT NULL,
	key        TEXT NOT NULL,                -- what it is about: it is written once
	text       TEXT NOT NULL,                -- '' when it is not needed any more
	edits      TEXT NOT NULL,                -- the ts of the message that it replaces; '': it is a new one
	ask        $JSON NOT NULL,               -- what its buttons decide; null: it has none
	state      TEXT NOT NULL,                -- waiting, sending, posted, failed
	ts         TEXT NOT NULL,                -- Slack's, when it is posted
	created_at BIGINT NOT NULL,
	UNIQUE (team_id, key)
);
CREATE INDEX slack_message_thread ON slack_message (team_id, slack_team, channel, thread_ts);
CREATE INDEX slack_message_at ON slack_message (created_at);

-- Connections that somebody has begun in a browser.
CREATE TABLE slack_attempt (
	state_hash TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX slack_attempt_team ON slack_attempt (team_id);

-- +goose Down
DROP TABLE slack_attempt;
DROP TABLE slack_message;
DROP TABLE slack_event;
DROP TABLE slack_thread;
DROP TABLE slack_workspace;
