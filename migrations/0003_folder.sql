-- Folders of the agent's surroundings that stand in frames: 'home' and 'temp'
-- as its environment named them. The working directory is session.cwd.
CREATE TABLE folder (
  session INTEGER NOT NULL,
  name    TEXT NOT NULL,
  path    TEXT NOT NULL,
  PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
