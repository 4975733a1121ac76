-- Tables with columns of every type, default and key of MariaDB; what Debezium 3.5.0 writes of them is in debezium.json.
set sql_mode = '';
create table alltypes (
 id bigint auto_increment primary key,
 ti tinyint, tiu tinyint unsigned, tiz tinyint(3) unsigned zerofill, si smallint, siu smallint unsigned, mi mediumint, miu mediumint unsigned, i int, iu int unsigned, iz int(7) zerofill, bi bigint, biu bigint unsigned,
 b1 boolean, b2 tinyint(1), b1u tinyint(1) unsigned, n52 decimal(5,2), n30 decimal(30,10), n0 decimal(10), n65 decimal(65,30), nu decimal(8,3) unsigned, nz decimal(8,3) zerofill, num numeric(6,1), fx fixed(4,1),
 f float, fu float unsigned, f72 float(7,2), f24 float(24), f53 float(53), d double, du double unsigned, d103 double(10,3), re real,
 bit1 bit(1), bit3 bit(3), bit8 bit(8), bit40 bit(40), bit64 bit(64), bitd bit,
 c char(5), c0 char, cb char(5) character set latin1 collate latin1_bin, vc varchar(10), vcl varchar(10) character set latin1, vcu varchar(10) character set ucs2, vc16 varchar(10) character set utf16, vc3 varchar(10) character set utf8mb3, vc4 varchar(10) character set utf8mb4, vcr varchar(10) character set cp1251, vcj varchar(10) character set sjis, vg varchar(10) character set gbk, vcbin varchar(10) character set binary, nc nchar(5), nvc nvarchar(5),
 bn binary(5), bn1 binary, vb varbinary(10), tt tinytext, tx text, mt mediumtext, lt longtext, txl text character set latin1, tb tinyblob, bl blob, mb mediumblob, lb longblob,
 en enum('sad', 'ok', 'it''s', 'a,b', ''), enl enum('é', 'ü') character set latin1, st set('a', 'b', 'it''s', 'd'), stl set('é', 'ü') character set latin1, 
 da date, tm time, tm1 time(1), tm3 time(3), tm6 time(6), dt datetime, dt1 datetime(1), dt3 datetime(3), dt4 datetime(4), dt6 datetime(6), ts timestamp null, ts1 timestamp(1) null, ts3 timestamp(3) null, ts4 timestamp(4) null, ts6 timestamp(6) null,
 ye year, y4 year(4), y2 year(2), js json, jl longtext check (json_valid(jl)), u uuid,
 gen int as (i * 2) virtual, gens int generated always as (i * 3) stored, inv int invisible, cmp text compressed, cmv varchar(20) compressed, cmb blob compressed, nodef int not null
) character set utf8mb4;
create table geo (id int primary key, g geometry, p point, l linestring, po polygon, mp multipoint, ml multilinestring, mpo multipolygon, gc geometrycollection, ps point ref_system_id=4326);
insert into alltypes (id, nodef) values (1, 1);
insert into alltypes (id,ti,tiu,tiz,si,siu,mi,miu,i,iu,iz,bi,biu,b1,b2,b1u,n52,n30,n0,n65,nu,nz,num,fx,f,fu,f72,f24,f53,d,du,d103,re,bit1,bit3,bit8,bit40,bit64,bitd,
 c,c0,cb,vc,vcl,vcu,vc16,vc3,vc4,vcr,vcj,vg,vcbin,nc,nvc,bn,bn1,vb,tt,tx,mt,lt,txl,tb,bl,mb,lb,en,enl,st,stl,da,tm,tm1,tm3,tm6,dt,dt1,dt3,dt4,dt6,ts,ts1,ts3,ts4,ts6,ye,y4,y2,js,jl,u,inv,cmp,cmv,cmb,nodef) values
(2,-128,255,7,-32768,65535,-8388608,16777215,-2147483648,4294967295,42,-9223372036854775808,18446744073709551615,true,5,1,-2.56,-1234567890.1234567891,1234567890,12345678901234567890123456789012345.123456789012345678901234567890,1.5,1.5,-1.5,9.5,
 1.1,3.4028234e38,12345.67,0.1,0.1,0.1,1.7976931348623157e308,1.5,-1e-300,b'1',b'101',b'10000001',b'1000000000000000000000000000000000000001',b'1111111111111111111111111111111111111111111111111111111111111111',b'0',
 'ab  ','x','é','Göte "b"','é€','ü東','東','東京','😀','Привет','東京','中文','bytes','ab','東','ab','q',x'00ff10','tiny','text','medium','long \\ \n "q"','é',x'01',x'deadbeef',x'02',x'03',
 'it''s','ü','a,it''s,d','é,ü','2024-02-29','23:59:59','12:34:56.7','12:34:56.789','12:34:56.123456','2024-02-29 12:00:00','2024-02-29 12:00:00.1','2024-02-29 12:00:00.123','2024-02-29 12:00:00.1234','2024-02-29 12:00:00.123456','2024-02-29 12:00:00','2024-02-29 12:00:00.1','2024-02-29 12:00:00.12','2024-02-29 12:00:00.1234','2024-02-29 12:00:00.123456',
 2024,1901,99,'{"b": 1,  "a":[1]}','{"a": 1}','a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',5,'compressed','cv',x'0a0b',2),
(3,127,0,0,32767,0,8388607,0,2147483647,0,0,9223372036854775807,9223372036854775808,false,0,0,0,0,-5,-0.000000000000000000000000000001,0,0,0,-0.1,
 -0.0,0,0,-3.4028235e38,1e-310,-0.0,0,0,3.141592653589793,b'0',b'0',b'0',b'0',b'0',b'1',
 '','','','','','','','','','','','','','','','','','','','','','','','','','','','','','','',
 '0001-01-01','-838:59:59','00:00:00','-00:00:00.001','838:59:59.999999','1000-01-01 00:00:00','9999-12-31 23:59:59.9','1582-10-10 00:00:00','1969-12-31 23:59:59.9999','0001-01-01 00:00:00.000001','1970-01-01 00:00:01','2038-01-19 03:14:07.9','1970-01-01 00:00:01.001','2038-01-19 03:14:07.9999','2038-01-19 03:14:07.999999',
 1999,2155,0,'null','""','00000000-0000-0000-0000-000000000000',0,'','','',3),
(4,1,1,1,1,1,1,1,1,1,1,1,1,1,-1,255,1,1,1,1,1,1,1,1,16777216,0.333333333,0.005,123456789,123456789,123456789012345678,1e22,0.0005,1e21,b'1',b'1',b'1',b'1',b'1',b'1',
 'a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q','r','s','t','u','v','w','x','y','z','A','sad','é','a','é',
 '0000-00-00','00:00:01','-12:34:56.7','24:00:00','-00:00:00.000001','0000-00-00 00:00:00','0000-00-00 00:00:00','2024-00-00 00:00:00','2024-02-00 10:00:00','9999-12-31 23:59:59.999999','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00',
 1970,2000,70,'[1, 2.50, 1e3, "é", true]','{}','ffffffff-ffff-ffff-ffff-ffffffffffff',null,'x','y','z',4),
(5,1,1,1,1,1,1,1,1,1,1,1,1,1,-1,255,1,1,1,1,1,1,1,1,1e-45,1e-38,-0.005,0.1,1e-5,1e16,1234567.125,-0.0005,5e-324,b'1',b'1',b'1',b'1',b'1',b'1',
 'a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q','r','s','t','u','v','w','x','y','z','A','','é','','',
 '2024-00-00','12:00:00','12:00:00.1','12:00:00.12','12:00:00.1','2024-06-30 12:00:00','1582-10-10 00:00:00','1900-01-01 00:00:00','1500-03-01 00:00:00','0044-03-15 12:00:00.1','2024-03-31 01:30:00','2024-10-27 01:30:00.5','2001-09-09 01:46:40','2001-09-09 01:46:40','2001-09-09 01:46:40.000001',
 2024,2024,1,'{"a": "\\u00e9\\n"}','[]','00112233-4455-6677-8899-aabbccddeeff',1,'x','y','z',5),
(6,1,1,1,1,1,1,1,1,1,1,1,1,1,-1,255,1,1,1,1,1,1,1,1,0.1,1e10,99999.99,1e7,1e7,1e7,0.001,1e6,9007199254740993,b'1',b'1',b'1',b'1',b'1',b'1',
 'a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q','r','s','t','u','v','w','x','y','z','A','nosuch','é','a,nosuch,d','é',
 '1582-10-10','01:00:00','01:00:00','01:00:00','01:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00','2024-06-30 12:00:00',
 2024,2024,1,'{}','[]','00112233-4455-6677-8899-aabbccddeeff',1,'x','y','z',6);
insert into geo values (1, null, null, null, null, null, null, null, null, null),
 (2, st_geomfromtext('POINT(1 2.5)'), st_geomfromtext('POINT(-1 2)'), st_geomfromtext('LINESTRING(0 0,1 1,2 2)'), st_geomfromtext('POLYGON((0 0,0 1,1 1,0 0))'), st_geomfromtext('MULTIPOINT(0 0,1 1)'), st_geomfromtext('MULTILINESTRING((0 0,1 1),(2 2,3 3))'), st_geomfromtext('MULTIPOLYGON(((0 0,0 1,1 1,0 0)))'), st_geomfromtext('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))'), st_geomfromtext('POINT(1 2)', 4326));
create table nokey (a int, b text); insert into nokey values (1, 'x'), (null, null);
create table twokeys (a varchar(20), b int unsigned, c text, primary key (b, a)); insert into twokeys values ('k', 1, 'v');
create table `Odd Name` (id int primary key, `Some-Col` text, `ü` int, `a.b` int) character set utf8mb4; insert into `Odd Name` values (1, 'v', 3, 4);
create table uniq (a int not null unique, b varchar(10) not null, unique (b)); insert into uniq values (1, 'x');
create table uniqnull (a int unique, b text); insert into uniqnull values (1, 'x');
create table uniqprefix (a int not null, b varchar(20) not null, unique (b(3))); insert into uniqprefix values (1, 'x');
create table uniqtwo (a int not null, b int, c int not null, unique k1 (a, b), unique k2 (c, a)); insert into uniqtwo values (1, 2, 3);
create table keyprefix (a text not null, b int, primary key (a(5))); insert into keyprefix values ('abcdefg', 1);
create table inline1 (a int unique key not null, b int unique); insert into inline1 values (1, 1);
create table decimalkey (a decimal(10,2), b datetime(3), c binary(3), d enum('x','y'), primary key (a, b, c, d)); insert into decimalkey values (1.5, '2024-01-01 00:00:00.5', 'a', 'y');
create table timekey (a timestamp(6) default current_timestamp(6), b date, c time, d year, e bit(3), f bigint unsigned, primary key (a, b, c, d, e, f)); insert into timekey values ('2024-01-01 00:00:00.5', '2024-01-01', '01:00:00', 2024, b'101', 18446744073709551615);
create table sysver (id int primary key, a text) with system versioning; insert into sysver values (1, 'x'); update sysver set a = 'y';
create table parted (id int primary key, a text) partition by range (id) (partition p0 values less than (10), partition p1 values less than maxvalue); insert into parted values (1, 'x'), (11, 'y');
create sequence seq;
create view viewed as select * from nokey;
create table commented (id int primary key comment 'the id', a text comment 'it''s \\ a \n `default 5` not null', d decimal(5,2) not null default 1 comment 'price', e enum('x') comment '', t timestamp null comment 'when') comment='a table'; insert into commented values (1, 'x', 2, 'x', null);
create table labels (id int primary key, e enum('a\\b','c\'d','e"f','g h','\n') default 'a\\b', s set('a\\b','c\'d','ü') default 'ü') character set utf8mb4; insert into labels values (1, 'a\\b', 'c\'d,ü'), (2, 'c\'d', 'a\\b'), (3, '\n', '');
create table defaults (
 id bigint auto_increment primary key,
 a int default 5, a2 int not null default -5, a3 int not null default '7', a4 int unsigned not null default 4294967295, b bigint not null default 10000000000, b2 bigint unsigned not null default 18446744073709551615, c smallint not null default '3', c2 tinyint not null default 1, c3 tinyint unsigned default 200, c4 mediumint default 9, d float not null default 1.5, e double default 2.5e3, e2 double not null default .1, e3 float default 0.1, f boolean not null default true, f2 boolean default false, f3 tinyint(1) default 1,
 g decimal(5,2) not null default 1.2, g2 decimal(10) default 3, g3 decimal(5,2) default '1.005', g4 decimal(5,2) not null, h varchar(10) not null default '', h2 varchar(10) default 'it''s', h3 varchar(5) default null, h4 char(3) not null default 'ab', h5 varchar(9) not null default upper('x'), h6 text default 'x', h7 varchar(40) default (uuid()), h8 varchar(9) default "dq", h9 varchar(9) default 'NULL', h10 varchar(9) default 'ü' , h11 varchar(20) default 'back\\slash',
 i date not null default '2024-01-02', i2 date default current_timestamp, i3 date not null default '0000-00-00', i4 date default '0000-00-00', i5 date, j time not null default '12:00', j2 time(3) default '12:00:00.5', j3 time default '-01:00:00', k datetime not null default '2024-01-02 03:04:05', k2 datetime(6) not null default '2024-01-02 03:04:05.123456', k3 datetime default current_timestamp, k4 datetime not null default current_timestamp on update current_timestamp, k5 datetime(3) not null default '0000-00-00', k6 datetime default '0000-00-00 00:00:00', k7 datetime(3) default now(3), k8 datetime(4) default '2024-01-02 03:04:05.1234',
 l timestamp not null default current_timestamp, l2 timestamp not null default '2024-01-02 03:04:05', l3 timestamp(6) not null default '2024-01-02 03:04:05.123456', l4 timestamp not null default '0000-00-00 00:00:00', l5 timestamp null default '0000-00-00 00:00:00', l6 timestamp, l7 timestamp null default null, l8 timestamp(3) default '2024-01-02 03:04:05.1', m year not null default 2024, m2 year default '99', m3 year default 0, n uuid not null default uuid(), n2 uuid default 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', o json not null default '{}', o2 json default '[]',
 p binary(3) not null default 'ab', p2 varbinary(3) default 'ab', p3 blob default 'ab', p4 varbinary(3) default x'00ff', p5 binary(3) default x'00ff', q enum('sad','ok') not null default 'ok', q2 enum('sad','ok') default 'sad', q3 set('a','b','c') not null default 'a,c', q4 set('a','b') default '', u bit(3) not null default b'101', u1 bit(1) not null default b'1', u2 bit(1) default b'0', u3 bit(40) default b'100000000', u4 bit(8) default 5, v int not null default (1 + 1), v2 int default (1), pt point default null, w double not null default 0, x int not null default 0, y int default 0, z int, z2 int not null, z3 varchar(3) not null, z4 int default true, z5 int default 0x10, z6 int default -1, z7 varchar(5) default 0, z8 int default 1.6, z9 decimal(5,1) default 1e2
);
insert into defaults (z2, m3) values (1, 2000);
