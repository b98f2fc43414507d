-- +goose Up
-- Counts that the rows of enumeration_chunk and enumeration_name have already.
ALTER TABLE enumeration_run DROP COLUMN chunk;
ALTER TABLE enumeration_chunk DROP COLUMN names;

-- +goose Down
ALTER TABLE enumeration_chunk ADD COLUMN names BIGINT NOT NULL DEFAULT 0;
UPDATE enumeration_chunk SET names = (SELECT count(*) FROM enumeration_name h
	WHERE h.enumeration_id = enumeration_chunk.enumeration_id AND h.run = enumeration_chunk.run AND h.n = enumeration_chunk.n);
ALTER TABLE enumeration_run ADD COLUMN chunk BIGINT NOT NULL DEFAULT 0;
UPDATE enumeration_run SET chunk = (SELECT coalesce(max(c.n) + 1, 0) FROM enumeration_chunk c
	WHERE c.enumeration_id = enumeration_run.enumeration_id AND c.run = enumeration_run.run);
