-- Tables with columns of every type, default and key; what Debezium 3.6.1 writes of them is in debezium.json.
create extension if not exists hstore; create extension if not exists citext; create extension if not exists ltree;
create type mood as enum ('sad', 'ok', 'happy');
create domain positive as int check (value > 0);
create domain code as varchar(5);
create table alltypes (
 id bigint primary key, i2 smallint, i4 int not null default 7, i8 bigint, f4 real, f8 double precision, b boolean,
 n numeric, n52 numeric(5,2), n30 numeric(30,10), nneg numeric(5,-2), m money, t text, vc varchar(10) default 'new', ch char(5), c1 "char", nm name, ci citext,
 by bytea, d date, tm time, tm3 time(3), tmz timetz, ts timestamp, ts3 timestamp(3), ts0 timestamp(0), tsz timestamptz, tsz3 timestamptz(3), iv interval,
 u uuid, js json, jb jsonb, x xml, inet inet, cidr cidr, mac macaddr, mac8 macaddr8, bit1 bit(1), bit3 bit(3), bit40 bit(40), vb varbit, vb9 varbit(9), md mood,
 ia int[], ta text[], na numeric(5,2)[], tsa timestamptz[], da date[], ua uuid[], ba boolean[], bya bytea[], ma mood[], ia2 int[][],
 i4r int4range, i8r int8range, nr numrange, tsr tsrange, tszr tstzrange, dr daterange,
 pt point, ln line, ls lseg, bx box, pa path, po polygon, ci2 circle, tsv tsvector, tsq tsquery, hs hstore, lt ltree, o oid, pos positive, cod code,
 lsn pg_lsn, xid xid, txs txid_snapshot, gen int generated always as (i4 * 2) stored, sr serial, nodef int not null
);
insert into alltypes (id, nodef) values (1, 1);
insert into alltypes (id,i2,i4,i8,f4,f8,b,n,n52,n30,nneg,m,t,vc,ch,c1,nm,ci,by,d,tm,tm3,tmz,ts,ts3,ts0,tsz,tsz3,iv,u,js,jb,x,inet,cidr,mac,mac8,bit1,bit3,bit40,vb,vb9,md,ia,ta,na,tsa,da,ua,ba,bya,ma,ia2,i4r,i8r,nr,tsr,tszr,dr,pt,ln,ls,bx,pa,po,ci2,tsv,tsq,hs,lt,o,pos,cod,lsn,xid,txs,nodef) values
(2,-7,5,-9223372036854775808,1.5,0.1,true,123456789.123456789,2.56,-1234567890.1234567891,12300,12.50,'Göte "b", \n','x','ab','q','nam','CiText',
 '\xdeadbeef','2024-02-29','23:59:59.123456','12:34:56.789','12:00:00.5+02','2024-02-29 12:00:00.123456','2024-02-29 12:00:00.123','2024-02-29 12:00:00','2024-02-29 12:00:00.123456+02','2024-02-29 12:00:00.1+00','1 year 2 months 3 days 04:05:06.7',
 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11','{"b": 1,  "a":[1]}','{"b": 1, "a": [1, 2, null]}','<a>1</a>','192.168.0.1/24','10.0.0.0/8','08:00:2b:01:02:03','08:00:2b:01:02:03:04:05',b'1',b'101',b'1000000000000000000000000000000000000001',b'1101',b'1',
 'happy','{1,2,null}','{a,"b c",null,"q\"x"}','{1.5,2}','{"2024-01-01 00:00:00+00"}','{2024-01-01}','{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}','{t,f}','{"\\x01"}','{sad}','{{1,2},{3,4}}',
 '[1,5)','[1,5)','[1.5,2.5]','[2024-01-01,2024-02-01)','[2024-01-01,2024-02-01)','[2024-01-01,2024-02-01)','(1,2.5)','{1,2,3}','[(0,0),(1,1)]','(1,1),(0,0)','((0,0),(1,1))','((0,0),(1,1))','<(0,0),1>','a fat cat','fat & cat','a=>1,b=>NULL','top.sci',42,5,'abc','0/16B3748','77','10:20:10,14,15',2),
(3,1,1,1,'NaN','Infinity',false,'NaN',-0.01,0,-100,-1.01,'','','','','','',
 '','infinity','24:00:00','00:00','00:00:00-08','infinity','1969-12-31 23:59:59.999','0001-01-01 00:00:00','-infinity','1900-01-01 00:00:00+00','-1 day',
 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11','null','"x"','','::1','::/0','08:00:2b:01:02:03','08:00:2b:01:02:03:04:05',b'0',b'000',b'0000000000000000000000000000000000000000',b'',b'',
 'sad','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}',
 'empty','(,)','empty','(,)','(,)','(,)','(-1,-2)','{1,-1,0}','[(0,0),(1,1)]','(1,1),(0,0)','[(0,0),(1,1)]','((0,0),(1,1))','<(0,0),0>','','','','t',0,1,'','0/0','0','1:1:',3);
create table nokey (a int, b text); insert into nokey values (1,'x'),(null,null);
create table twokeys (a text, b int, c text, primary key (b, a)); insert into twokeys values ('k',1,'v');
create table "Odd Name" (id int primary key, "Some-Col" text, "ü" int); insert into "Odd Name" values (1,'v',3);
create table defaults (
 id bigserial primary key,
 a int default 5, a2 int not null default -5, b bigint not null default 10000000000, c smallint not null default '3', d real not null default 1.5, e double precision default 2.5e3, f boolean not null default true, f2 boolean default false,
 g numeric(5,2) not null default 1.2, g2 numeric default 3.14, g3 numeric not null default 3.14, h text not null default '', h2 text default 'it''s', h3 varchar(5) default null, h4 char(3) not null default 'ab', h5 text not null default upper('x'), h6 text default upper('x'),
 i date not null default '2024-01-02', i2 date not null default current_date, i3 date default now(), j time not null default '12:00', j2 time not null default localtime, k timestamp not null default '2024-01-02 03:04:05.123456', k2 timestamp not null default now(), k3 timestamp(3) not null default now(),
 l timestamptz not null default '2024-01-02 03:04:05+00', l2 timestamptz not null default now(), l3 timestamptz default now(), m interval not null default '1 day', n uuid not null default gen_random_uuid(), n2 uuid default 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', o jsonb not null default '{}', o2 json default '[]', p bytea not null default '\x01', p2 bytea default '\x',
 q mood not null default 'ok', r int[] not null default '{}', r2 text[] default array['a'], s inet not null default '127.0.0.1', t money not null default 1.5, u bit(3) not null default b'101', u1 bit(1) not null default b'1', v numeric(10,0) not null default 7, w timetz not null default '12:00:00+00', x oid not null default 3, y xml not null default '<a/>', pt point not null default '(1,2)', i4r int4range not null default '[1,2)', hh int not null default 1+1, hi int generated by default as identity, hj smallint not null default (2)::smallint, hk text not null default 'a'::text || 'b', hl varchar not null default 'x'::character varying(3), hm float8 not null default 'NaN', cc "char" not null default 'z', dd date not null default 'infinity'
);
insert into defaults default values;
create table uniq (a int not null unique, b text not null, unique (b)); insert into uniq values (1,'x');
create table uniqnull (a int unique, b text); insert into uniqnull values (1,'x');
create table uniqexpr (a int not null, b text not null); create unique index on uniqexpr (lower(b)); insert into uniqexpr values (1,'x');
create table uniqpart (a int not null, b text not null); create unique index on uniqpart (a) where b = 'x'; insert into uniqpart values (1,'x');
create table odd (id int primary key, d date, ts timestamp, ts3 timestamp(3), ts0 timestamp(0), tsz timestamptz, tsz0 timestamptz(0), tsz1 timestamptz(1), tm0 time(0), tm1 time(1), tmz timetz, tmz0 timetz(0), iv interval, n numeric, n0 numeric(4), pt point, va varchar[], ca char(3)[], i8a int8[], f4a float4[], f8a float8[], na numeric[], ia2 int[], ta2 text[][], js json[], jb jsonb[], tma time[], tsa timestamp[], tmza timetz[], boa boolean[], ina inet[], hsa cidr[], moa money[], oa oid[], b8 bit(8), b9 bit(9), vb varbit, bita bit(3)[], ra int4range[], i2a smallint[], iva interval[], ga point[], xa xml[], vb5 varbit(5), c1a "char"[], na4 name[]);
insert into odd (id,d,ts,ts3,ts0,tsz,tsz0,tsz1,tm0,tm1,tmz,tmz0,iv,n,n0,pt,va,ca,i8a,f4a,f8a,na,ia2,ta2,js,jb,tma,tsa,tmza,boa,ina,hsa,moa,oa,b8,b9,vb,bita,ra,i2a,iva,ga,xa,vb5,c1a,na4) values
(1,'-infinity','-infinity','-infinity','-infinity','infinity','2024-01-01 00:00:00.6+00','2024-01-01 00:00:00.66+00','12:00:01','12:00:01.5','24:00:00+00','12:00:00-05:30','-1 mon +3 days -04:05:06.789012',0,-7,'(1e10,-0)','{a,NULL,""}','{ab}','{9223372036854775807}','{1.1,NaN}','{1.1,Infinity}','{1.50,2e10}','[2:3]={1,2}','{{a,b},{c,d}}','{"{\"a\":1}"}','{"{\"a\":1}"}','{12:00:00}','{"2024-01-01 00:00:00"}','{12:00:00+02}','{t,null}','{::1}','{10.0.0.0/8}','{1.5}','{5}',b'10000000',b'100000000',b'0000000011111111',array[b'101'],'{"[1,2)"}','{1}','{"1 day"}','{"(1,2)"}','{<a/>}',b'10001','{a}','{n}'),
(2,'0044-03-15 BC','0044-03-15 12:00:00 BC','0044-03-15 12:00:00 BC','0044-03-15 12:00:00 BC','0044-03-15 12:00:00+00 BC','12024-01-01 00:00:00+00','0099-01-01 00:00:00+00','24:00:00','00:00:00','00:00:00+15','12:00:00+00','100 years 5 mons',1e20,1,'(NaN,Infinity)','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}',b'00000000',b'000000001',b'','{}','{}','{}','{}','{}','{}',b'0','{}','{}'),
(3,'5874897-12-31','294276-12-31 23:59:59.999999','294276-12-31 23:59:59.999','294276-12-31 23:59:59','294276-12-31 23:59:59.999999+00','1582-10-10 00:00:00+00','-infinity','00:00','23:59:59.9','23:59:59.999999-15:59','00:00:00+00','0',-0.00001,0,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
(4,'1582-10-10','1582-10-10 00:00:00','1500-03-01 00:00:00','0001-12-31 00:00:00',null,null,null,null,null,null,null,'-1 year -2 mons',123,null,null,null,null,null,null,null,'{123456789012345678901234567890.5,NULL}',null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null);
