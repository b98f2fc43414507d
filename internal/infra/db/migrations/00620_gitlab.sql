-- +goose Up
-- A team's accounts at GitLabs, each with what it may reach.
CREATE TABLE gitlab_connection (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	url        TEXT NOT NULL,                -- of the GitLab, without a path of the API
	user_id    BIGINT NOT NULL,              -- GitLab's, of the account that the token is of
	username   TEXT NOT NULL,
	token      $BYTES NOT NULL,              -- sealed
	hook       $BYTES NOT NULL,              -- sealed: what GitLab sends in X-Gitlab-Token
	error      TEXT NOT NULL,                -- of the last call that failed; '': the last one went well
	checked_at BIGINT,                       -- when GitLab answered last
	created_at BIGINT NOT NULL,
	UNIQUE (team_id, url, user_id)
);

-- Repositories that are reviewed: of an installation at GitHub, or of a connection to GitLab.
CREATE TABLE review_repo (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	forge      TEXT NOT NULL,                -- github, gitlab
	install    TEXT REFERENCES github_installation (id) ON DELETE CASCADE,
	connection TEXT REFERENCES gitlab_connection (id) ON DELETE CASCADE,
	repo_id    BIGINT NOT NULL,              -- the forge's
	full_name  TEXT NOT NULL,
	is_private BOOLEAN NOT NULL,
	config     $JSON NOT NULL,               -- what was set; the rest has its defaults
	UNIQUE (install, repo_id),
	UNIQUE (connection, repo_id)
);
CREATE INDEX review_repo_team ON review_repo (team_id, forge, full_name);
INSERT INTO review_repo (id, team_id, forge, install, repo_id, full_name, is_private, config)
	SELECT id, team_id, 'github', install, repo_id, full_name, is_private, config FROM github_repo;

-- A review of a commit of a pull or merge request; there is one of each.
CREATE TABLE review_run (
	id          TEXT PRIMARY KEY,            -- uuid v7: later reviews sort later
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	forge       TEXT NOT NULL,               -- of its repository
	repo        TEXT NOT NULL REFERENCES review_repo (id) ON DELETE CASCADE,
	pull        BIGINT NOT NULL,
	head        TEXT NOT NULL,
	cause       TEXT NOT NULL,               -- the action of the webhook, or command
	status      TEXT NOT NULL,               -- queued, running, completed, superseded, failed
	error       TEXT NOT NULL,
	conclusion  TEXT NOT NULL,               -- of the check
	posting     BOOLEAN NOT NULL,            -- comments were sent, or are being sent
	check_id    BIGINT NOT NULL,
	findings    $JSON NOT NULL,
	commented   $JSON NOT NULL,              -- what has a comment on its line, by fingerprint
	files       BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	finished_at BIGINT,
	UNIQUE (repo, pull, head)
);
CREATE INDEX review_run_team ON review_run (team_id, forge, id);
INSERT INTO review_run (id, team_id, forge, repo, pull, head, cause, status, error, conclusion, posting, check_id, findings, commented,
	files, created_at, finished_at) SELECT id, team_id, 'github', repo, pull, head, cause, status, error, conclusion, posting, check_id,
	findings, commented, files, created_at, finished_at FROM github_review;
DROP TABLE github_review;
DROP TABLE github_repo;

-- Comments at GitLab that were taken.
CREATE TABLE gitlab_note (
	connection TEXT NOT NULL REFERENCES gitlab_connection (id) ON DELETE CASCADE,
	note       BIGINT NOT NULL,
	at         BIGINT NOT NULL,
	PRIMARY KEY (connection, note)
);
CREATE INDEX gitlab_note_at ON gitlab_note (at);

-- +goose Down
CREATE TABLE github_repo (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	install    TEXT NOT NULL REFERENCES github_installation (id) ON DELETE CASCADE,
	repo_id    BIGINT NOT NULL,
	full_name  TEXT NOT NULL,
	is_private BOOLEAN NOT NULL,
	config     $JSON NOT NULL,
	UNIQUE (install, repo_id)
);
CREATE INDEX github_repo_team ON github_repo (team_id, full_name);
INSERT INTO github_repo SELECT id, team_id, install, repo_id, full_name, is_private, config FROM review_repo WHERE forge = 'github';
CREATE TABLE github_review (
	id          TEXT PRIMARY KEY,
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	repo        TEXT NOT NULL REFERENCES github_repo (id) ON DELETE CASCADE,
	pull        BIGINT NOT NULL,
	head        TEXT NOT NULL,
	cause       TEXT NOT NULL,
	status      TEXT NOT NULL,
	error       TEXT NOT NULL,
	conclusion  TEXT NOT NULL,
	posting     BOOLEAN NOT NULL,
	check_id    BIGINT NOT NULL,
	findings    $JSON NOT NULL,
	commented   $JSON NOT NULL,
	files       BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	finished_at BIGINT,
	UNIQUE (repo, pull, head)
);
CREATE INDEX github_review_team ON github_review (team_id, id);
INSERT INTO github_review SELECT id, team_id, repo, pull, head, cause, status, error, conclusion, posting, check_id, findings, commented,
	files, created_at, finished_at FROM review_run WHERE forge = 'github';
DROP TABLE gitlab_note;
DROP TABLE review_run;
DROP TABLE review_repo;
DROP TABLE gitlab_connection;
