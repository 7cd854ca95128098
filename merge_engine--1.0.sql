/* merge_engine--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION merge_engine" to load this file. \quit

CREATE FUNCTION @extschema@.table_am_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE ACCESS METHOD merge_engine TYPE TABLE HANDLER @extschema@.table_am_handler;
COMMENT ON ACCESS METHOD merge_engine IS 'heap tables that merge rows of one primary key';
