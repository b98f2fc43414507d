-- +goose Up
-- Scopes of templates: the sets starter, early and public, and each team with its own templates.
-- Transactions that write templates of a scope lock this row; rev changes with each of them.
CREATE TABLE template_scope (
	scope       TEXT PRIMARY KEY,
	rev         BIGINT NOT NULL,
	digest      TEXT NOT NULL DEFAULT '', -- of the whole set; empty for a team's
	source      TEXT NOT NULL DEFAULT '', -- where the set came from: a path or a URL
	release_tag TEXT NOT NULL DEFAULT '',
	updated_at  BIGINT NOT NULL
);

CREATE TABLE template (
	scope       TEXT NOT NULL,
	id          TEXT NOT NULL,            -- of a set: the written one; of a team: a uuid v7
	written_id  TEXT NOT NULL,
	user_id     TEXT NOT NULL,            -- empty for a set
	path        TEXT NOT NULL,            -- such as http/cves/2024/x.yaml
	name        TEXT NOT NULL,
	type        TEXT NOT NULL,
	info        $JSON NOT NULL,
	prompt      TEXT NOT NULL,
	digest      TEXT NOT NULL,            -- sha256 of raw, hex
	release_tag TEXT NOT NULL,            -- the release that brought it first
	is_new      BOOLEAN NOT NULL,         -- the last release brought it
	requests    BIGINT NOT NULL,          -- on one target; 0: this build cannot run it
	files       $JSON NOT NULL,           -- what it names of other files: name → path
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	raw         $BYTES NOT NULL,          -- last, so that lists do not read past it
	PRIMARY KEY (scope, id)
);
CREATE INDEX template_written_id ON template (scope, written_id);

-- Files that templates of a set use, such as payload lists.
CREATE TABLE template_file (
	scope TEXT NOT NULL,
	path  TEXT NOT NULL,
	text  $BYTES NOT NULL,
	PRIMARY KEY (scope, path)
);

CREATE TABLE template_share (
	id            TEXT PRIMARY KEY,       -- the link; a template that is shared again gets a new one
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	template_id   TEXT NOT NULL,
	user_id       TEXT NOT NULL,
	share_type    TEXT NOT NULL,
	ttl           TEXT NOT NULL,
	emails        $JSON NOT NULL,
	organizations $JSON NOT NULL,
	expires_at    BIGINT,                 -- NULL: never
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (team_id, template_id)
);

-- +goose Down
DROP TABLE template_share;
DROP TABLE template_file;
DROP TABLE template;
DROP TABLE template_scope;
