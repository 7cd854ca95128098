/* merge_engine--0.9--1.0.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION merge_engine UPDATE TO '1.0'" to load this file. \quit

-- the commands of an event trigger cannot be altered: they are made again
DROP EVENT TRIGGER merge_engine_ddl_start;
DROP EVENT TRIGGER merge_engine_ddl_end;
