-- +goose Up
-- Vectors of the chunks of knowledge, where a team has an embedding model.
ALTER TABLE model_key ADD COLUMN embedding_model TEXT NOT NULL DEFAULT ''; -- empty: none

CREATE TABLE knowledge_embedding ( -- how far a team's vectors are
	team_id    TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	model      TEXT NOT NULL,         -- that made the vectors of space; empty: none yet
	dimensions BIGINT NOT NULL,       -- numbers of a vector; 0: not known yet
	unrelated  $BYTES NOT NULL,       -- mean vector of texts about other things; empty: not known yet
	space      BIGINT NOT NULL,       -- another with each model and each number of dimensions
	wanted     BIGINT NOT NULL,       -- the last job that was asked for
	error      TEXT NOT NULL,         -- why the last one ended early; empty: it did not
	tried_at   BIGINT NOT NULL        -- when a job was asked for last
);

CREATE TABLE knowledge_vector (
	no        BIGINT PRIMARY KEY REFERENCES knowledge_chunk (no) ON DELETE CASCADE,
	source_id TEXT NOT NULL,
	round     BIGINT NOT NULL,
	space     BIGINT NOT NULL,        -- of knowledge_embedding; others are not compared
	vector    $BYTES NOT NULL         -- float32, little endian, of length 1
);
CREATE INDEX knowledge_vector_of_source ON knowledge_vector (source_id, round);

DROP INDEX knowledge_chunk_of_source;
CREATE INDEX knowledge_chunk_of_source ON knowledge_chunk (source_id, round, no);

-- +goose Down
DROP INDEX knowledge_chunk_of_source;
CREATE INDEX knowledge_chunk_of_source ON knowledge_chunk (source_id, round);
DROP TABLE knowledge_vector;
DROP TABLE knowledge_embedding;
ALTER TABLE model_key DROP COLUMN embedding_model;
