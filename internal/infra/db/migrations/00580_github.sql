-- +goose Up
-- Installations of the operator's GitHub App that a team has connected.
CREATE TABLE github_installation (
	id              TEXT PRIMARY KEY,
	team_id         TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	installation_id BIGINT NOT NULL UNIQUE,  -- GitHub's
	account_login   TEXT NOT NULL,
	account_type    TEXT NOT NULL,           -- User or Organization
	status          TEXT NOT NULL,           -- active, suspended, revoked_external
	total_repos     BIGINT NOT NULL,
	error           TEXT NOT NULL,           -- of the last call that failed; '': the last one went well
	checked_at      BIGINT,                  -- when GitHub answered last
	created_at      BIGINT NOT NULL
);
CREATE INDEX github_installation_team ON github_installation (team_id);

CREATE TABLE github_repo (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	install    TEXT NOT NULL REFERENCES github_installation (id) ON DELETE CASCADE,
	repo_id    BIGINT NOT NULL,              -- GitHub's
	full_name  TEXT NOT NULL,
	is_private BOOLEAN NOT NULL,
	config     $JSON NOT NULL,               -- what was set; the rest has its defaults
	UNIQUE (install, repo_id)
);
CREATE INDEX github_repo_team ON github_repo (team_id, full_name);

-- A review of a commit of a pull request; there is one of each.
CREATE TABLE github_review (
	id          TEXT PRIMARY KEY,            -- uuid v7: later reviews sort later
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	repo        TEXT NOT NULL REFERENCES github_repo (id) ON DELETE CASCADE,
	pull        BIGINT NOT NULL,
	head        TEXT NOT NULL,
	cause       TEXT NOT NULL,               -- the action of the webhook, or command
	status      TEXT NOT NULL,               -- queued, running, completed, superseded, failed
	error       TEXT NOT NULL,
	conclusion  TEXT NOT NULL,               -- of the check run
	posting     BOOLEAN NOT NULL,            -- comments were sent, or are being sent
	check_id    BIGINT NOT NULL,
	findings    $JSON NOT NULL,
	commented   $JSON NOT NULL,              -- what has a comment on its line, by fingerprint
	files       BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	finished_at BIGINT,
	UNIQUE (repo, pull, head)
);
CREATE INDEX github_review_team ON github_review (team_id);

-- Webhooks that were taken, by their ids.
CREATE TABLE github_delivery (
	id TEXT PRIMARY KEY,
	at BIGINT NOT NULL
);
CREATE INDEX github_delivery_at ON github_delivery (at);

-- Connections that somebody has begun in a browser.
CREATE TABLE github_attempt (
	state_hash TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX github_attempt_team ON github_attempt (team_id);

-- +goose Down
DROP TABLE github_attempt;
DROP TABLE github_delivery;
DROP TABLE github_review;
DROP TABLE github_repo;
DROP TABLE github_installation;
