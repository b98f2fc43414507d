-- +goose Up
-- Texts that a team's tasks can search: each source is indexed in chunks by a job.
CREATE TABLE knowledge_source (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,
	shared     BOOLEAN NOT NULL,      -- the team's; else its owner's alone
	name       TEXT NOT NULL,
	kind       TEXT NOT NULL,         -- text, file, url or git
	url        TEXT NOT NULL,
	file_key   TEXT NOT NULL,         -- of an uploaded file
	ref        TEXT NOT NULL,
	content    $BYTES NOT NULL,       -- of a text
	state      TEXT NOT NULL,
	error      TEXT NOT NULL,
	revision   TEXT NOT NULL,         -- the commit of a git remote
	bytes      BIGINT NOT NULL,
	chunks     BIGINT NOT NULL,
	round      BIGINT NOT NULL,       -- of indexing, the last one that was asked for
	shown      BIGINT NOT NULL,       -- the round whose chunks are searched; 0: none
	created_at BIGINT NOT NULL,
	indexed_at BIGINT                 -- NULL: never
);
CREATE INDEX knowledge_source_of_team ON knowledge_source (team_id, created_at);

CREATE TABLE knowledge_chunk (
	no        BIGINT PRIMARY KEY,
	source_id TEXT NOT NULL REFERENCES knowledge_source (id) ON DELETE CASCADE,
	team_id   TEXT NOT NULL,
	round     BIGINT NOT NULL,
	place     TEXT NOT NULL,          -- the file or the page
	line      BIGINT NOT NULL,        -- its first line there
	text      TEXT NOT NULL
);
CREATE INDEX knowledge_chunk_of_source ON knowledge_chunk (source_id, round);

CREATE TABLE knowledge_number ( -- one row: the last number of a chunk
	one  BIGINT PRIMARY KEY,
	last BIGINT NOT NULL
);
INSERT INTO knowledge_number (one, last) VALUES (1, 0);
$TEXT(knowledge OF knowledge_chunk)

-- +goose Down
$NOTEXT(knowledge OF knowledge_chunk)
DROP TABLE knowledge_number;
DROP TABLE knowledge_chunk;
DROP TABLE knowledge_source;
