-- +goose Up
ALTER TABLE task_stream ADD COLUMN ending $JSON; -- what its summary is made of, besides issues and steps; NULL: it has another

-- +goose Down
ALTER TABLE task_stream DROP COLUMN ending;
