-- +goose Up
-- MCP servers that are programs in the sandbox: the command, the names of secrets in its environment, the hosts that it
-- reaches, and its files. Without a command it is reached over HTTP.
ALTER TABLE mcp_server ADD COLUMN program $JSON NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE mcp_server DROP COLUMN program;
