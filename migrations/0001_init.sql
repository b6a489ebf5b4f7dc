-- The whole schema of a recording. Times are whole microseconds: of a session
-- since 1970 (UTC), of everything else since the session's start.

-- Facts about the database itself: 'secret' is its redaction key.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One run of one agent process.
CREATE TABLE session (
  id          INTEGER PRIMARY KEY AUTOINCREMENT, -- the short number people type, never used twice
  uid         TEXT NOT NULL UNIQUE,              -- ULID
  name        TEXT NOT NULL,
  started     INTEGER NOT NULL,
  host        TEXT NOT NULL,
  cwd         TEXT NOT NULL,
  argv        TEXT NOT NULL,                     -- JSON array of strings
  version     TEXT NOT NULL,
  dialect     TEXT NOT NULL,
  parent      TEXT NOT NULL,
  unredacted  INTEGER NOT NULL,
  edited      INTEGER NOT NULL,
  state       TEXT NOT NULL,
  reason      TEXT NOT NULL,
  ended       INTEGER NOT NULL,
  exit_code   INTEGER,
  exit_signal TEXT,
  last_seq    INTEGER NOT NULL,
  chains      BLOB NOT NULL,                     -- proof of what is stored: in, out, err; 48 bytes each
  original    BLOB,                              -- the recorder's own chains, once the session was edited
  wire_in     INTEGER NOT NULL,                  -- bytes the pumps counted, -1 when unknown
  wire_out    INTEGER NOT NULL,
  wire_err    INTEGER NOT NULL,
  turn        INTEGER NOT NULL,                  -- counts commits; keeps two writers apart
  checkpoint  BLOB                               -- the writer's own, as of its last commit
) STRICT;

CREATE TABLE tag (
  session INTEGER NOT NULL,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

-- The open end of a session: frames that do not fill a chunk yet.
CREATE TABLE frame (
  id   INTEGER PRIMARY KEY, -- session << 40 | seq
  kind INTEGER NOT NULL,    -- stream | terminator << 2 | giant << 4
  time INTEGER NOT NULL,
  size INTEGER NOT NULL,
  raw  BLOB                 -- NULL for a giant
) STRICT;

-- Packed frames with consecutive numbers.
CREATE TABLE chunk (
  id      INTEGER PRIMARY KEY, -- session << 40 | seq of the first frame
  last    INTEGER NOT NULL,    -- seq of the last frame
  size    INTEGER NOT NULL,    -- bytes of the payload, unpacked
  chains  BLOB NOT NULL,       -- proof up to and with the last frame
  columns BLOB NOT NULL,       -- kind, size and time of each frame
  payload BLOB NOT NULL        -- the frames without terminators, one after the other
) STRICT;

-- Frames too long for memory. One that has not ended has no seq yet.
CREATE TABLE giant (
  session INTEGER NOT NULL,
  n       INTEGER NOT NULL,    -- order of beginning, from 1
  stream  INTEGER NOT NULL,
  seq     INTEGER,             -- NULL until it ends
  size    INTEGER NOT NULL,
  parts   INTEGER NOT NULL,
  state   BLOB,                -- of the hash up to here, until it ends
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX giant_seq ON giant (session, seq);

CREATE TABLE part (
  session INTEGER NOT NULL,
  giant   INTEGER NOT NULL,
  n       INTEGER NOT NULL,    -- from 0
  size    INTEGER NOT NULL,    -- bytes, unpacked
  data    BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX part_n ON part (session, giant, n);

-- Lifecycle events.
CREATE TABLE event (
  session     INTEGER NOT NULL,
  n           INTEGER NOT NULL, -- order, from 1
  after       INTEGER NOT NULL, -- seq of the last frame before it
  time        INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  stream      INTEGER NOT NULL,
  signal      TEXT NOT NULL,
  exit_code   INTEGER,
  exit_signal TEXT,
  bytes       INTEGER NOT NULL,
  detail      TEXT NOT NULL,
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
