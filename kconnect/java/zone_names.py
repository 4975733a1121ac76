"""
The names by which Java's SimpleDateFormat (17, English) knows time zones in a text, in the order in which it looks for them.

Data of `zones.py`. Each row has the zone, its standard offset and its daylight saving in minutes, and its names: long and short
standard name, long and short daylight name. A zone is missing if earlier zones have all its names, because it is never found.
"""

from __future__ import annotations

ROWS = """\
UTC|0|0|Coordinated Universal Time|UTC|Coordinated Universal Time|UTC
America/Los_Angeles|-480|60|Pacific Standard Time|PST|Pacific Daylight Time|PDT
America/Denver|-420|60|Mountain Standard Time|MST|Mountain Daylight Time|MDT
America/Chicago|-360|60|Central Standard Time|CST|Central Daylight Time|CDT
America/New_York|-300|60|Eastern Standard Time|EST|Eastern Daylight Time|EDT
Pacific/Honolulu|-600|0|Hawaii-Aleutian Standard Time|HST|Hawaii-Aleutian Daylight Time|HDT
America/Anchorage|-540|60|Alaska Standard Time|AKST|Alaska Daylight Time|AKDT
America/Halifax|-240|60|Atlantic Standard Time|AST|Atlantic Daylight Time|ADT
America/St_Johns|-210|60|Newfoundland Standard Time|NST|Newfoundland Daylight Time|NDT
Europe/Paris|60|60|Central European Standard Time|CET|Central European Summer Time|CEST
GMT|0|0|Greenwich Mean Time|GMT|Greenwich Mean Time|GMT
Asia/Jerusalem|120|60|Israel Standard Time|IST|Israel Daylight Time|IDT
Asia/Tokyo|540|0|Japan Standard Time|JST|Japan Daylight Time|JDT
Europe/Bucharest|120|60|Eastern European Standard Time|EET|Eastern European Summer Time|EEST
Asia/Shanghai|480|0|China Standard Time|CST|China Daylight Time|CDT
Australia/Darwin|570|0|Australian Central Standard Time|ACST|Australian Central Daylight Time|ACDT
Australia/Sydney|600|60|Australian Eastern Standard Time|AEST|Australian Eastern Daylight Time|AEDT
America/Sao_Paulo|-180|0|Brasilia Standard Time|BRT|Brasilia Summer Time|BRST
Asia/Dhaka|360|0|Bangladesh Standard Time|BDT|Bangladesh Summer Time|BDST
Africa/Harare|120|0|Central Africa Time|CAT|Central African Summer Time|CAST
Africa/Addis_Ababa|180|0|East Africa Time|EAT|Eastern African Summer Time|EAST
Pacific/Apia|780|0|Apia Standard Time|WSST|Apia Daylight Time|WSDT
Asia/Yerevan|240|0|Armenia Standard Time|AMT|Armenia Summer Time|AMST
Pacific/Auckland|720|60|New Zealand Standard Time|NZST|New Zealand Daylight Time|NZDT
Asia/Karachi|300|0|Pakistan Standard Time|PKT|Pakistan Summer Time|PKST
Pacific/Guadalcanal|660|0|Solomon Islands Time|SBT|Solomon Is. Summer Time|SBST
Asia/Aden|180|0|Arabian Standard Time|AST|Arabian Daylight Time|ADT
Asia/Baku|240|0|Azerbaijan Standard Time|AZT|Azerbaijan Summer Time|AZST
Asia/Dili|540|0|East Timor Time|TLT|Timor-Leste Summer Time|TLST
Asia/Hovd|420|0|Hovd Standard Time|HOVT|Hovd Summer Time|HOVST
Asia/Omsk|360|0|Omsk Standard Time|OMST|Omsk Summer Time|OMSST
Asia/Oral|300|0|West Kazakhstan Time|ORAT|Oral Summer Time|ORAST
Asia/Aqtau|300|0|West Kazakhstan Time|AQTT|Aqtau Summer Time|AQTST
Asia/Chita|540|0|Yakutsk Standard Time|YAKT|Yakutsk Summer Time|YAKST
Asia/Dubai|240|0|Gulf Standard Time|GST|Gulf Daylight Time|GDT
Asia/Kabul|270|0|Afghanistan Time|AFT|Afghanistan Summer Time|AFST
Asia/Seoul|540|0|Korean Standard Time|KST|Korean Daylight Time|KDT
Asia/Almaty|300|0|East Kazakhstan Time|ALMT|Alma-Ata Summer Time|ALMST
Asia/Anadyr|720|0|Anadyr Standard Time|ANAT|Anadyr Summer Time|ANAST
Asia/Aqtobe|300|0|West Kazakhstan Time|AQTT|Aqtobe Summer Time|AQTST
Asia/Atyrau|300|0|West Kazakhstan Time|GMT+05:00|Atyrau Daylight Time|GMT+05:00
Asia/Brunei|480|0|Brunei Darussalam Time|BNT|Brunei Summer Time|BNST
Asia/Manila|480|0|Philippine Standard Time|PST|Philippine Summer Time|PDT
Asia/Saigon|420|0|Indochina Time|ICT|Indochina Summer Time|ICST
Asia/Taipei|480|0|Taipei Standard Time|CST|Taipei Daylight Time|CDT
Asia/Tehran|210|0|Iran Standard Time|IRST|Iran Daylight Time|IRDT
Indian/Mahe|240|0|Seychelles Time|SCT|Seychelles Summer Time|SCST
Pacific/Yap|600|0|Chuuk Time|CHUT|Chuuk Summer Time|CHUST
Africa/Accra|0|0|Greenwich Mean Time|GMT|Ghana Summer Time|GHST
Africa/Lagos|60|0|West Africa Standard Time|WAT|West Africa Summer Time|WAST
America/Adak|-600|60|Hawaii-Aleutian Standard Time|HAST|Hawaii-Aleutian Daylight Time|HADT
America/Lima|-300|0|Peru Standard Time|PET|Peru Summer Time|PEST
Asia/Bishkek|360|0|Kyrgyzstan Time|KGT|Kirgizstan Summer Time|KGST
Asia/Colombo|330|0|India Standard Time|IST|India Daylight Time|IDT
Asia/Irkutsk|480|0|Irkutsk Standard Time|IRKT|Irkutsk Summer Time|IRKST
Asia/Jakarta|420|0|Western Indonesia Time|WIB|West Indonesia Summer Time|WIST
Asia/Kuching|480|0|Malaysia Time|MYT|Malaysia Summer Time|MYST
Asia/Magadan|660|0|Magadan Standard Time|MAGT|Magadan Summer Time|MAGST
Asia/Rangoon|390|0|Myanmar Time|MMT|Myanmar Summer Time|MMST
Asia/Tbilisi|240|0|Georgia Standard Time|GET|Georgia Summer Time|GEST
Asia/Thimphu|360|0|Bhutan Time|BTT|Bhutan Summer Time|BTST
Europe/Minsk|180|0|Moscow Standard Time|MSK|Moscow Summer Time|MSD
Indian/Cocos|390|0|Cocos Islands Time|CCT|Cocos Islands Summer Time|CCST
Pacific/Fiji|720|0|Fiji Standard Time|FJT|Fiji Summer Time|FJST
Pacific/Guam|600|0|Chamorro Standard Time|ChST|Chamorro Daylight Time|ChDT
Pacific/Niue|-660|0|Niue Time|NUT|Niue Summer Time|NUST
Pacific/Wake|720|0|Wake Island Time|WAKT|Wake Summer Time|WAKST
SystemV/PST8|-480|0|Pitcairn Time|PST|Pitcairn Time|PST
SystemV/YST9|-540|0|Gambier Time|AKST|Gambier Time|AKST
Africa/Maseru|120|0|South Africa Standard Time|SAST|South Africa Summer Time|SAST
America/Jujuy|-180|0|Argentina Standard Time|ART|Argentina Summer Time|ARST
Asia/Ashgabat|300|0|Turkmenistan Standard Time|TMT|Turkmenistan Summer Time|TMST
Asia/Dushanbe|300|0|Tajikistan Time|TJT|Tajikistan Summer Time|TJST
Asia/Jayapura|540|0|Eastern Indonesia Time|WIT|East Indonesia Summer Time|EIST
Asia/Katmandu|345|0|Nepal Time|NPT|Nepal Summer Time|NPST
Asia/Makassar|480|0|Central Indonesia Time|WITA|Central Indonesia Summer Time|CIST
Asia/Qostanay|300|0|East Kazakhstan Time|QOST|Kostanay Summer Time|QOSST
Asia/Sakhalin|660|0|Sakhalin Standard Time|SAKT|Sakhalin Summer Time|SAKST
Asia/Tashkent|300|0|Uzbekistan Standard Time|UZT|Uzbekistan Summer Time|UZST
Asia/Ust-Nera|600|0|Vladivostok Standard Time|VLAT|Vladivostok Summer Time|VLAST
Europe/Dublin|0|60|Greenwich Mean Time|GMT|Irish Standard Time|IST
Europe/Jersey|0|60|Greenwich Mean Time|GMT|British Summer Time|BST
Europe/Lisbon|0|60|Western European Standard Time|WET|Western European Summer Time|WEST
Europe/Samara|240|0|Samara Standard Time|SAMT|Samara Summer Time|SAMST
Indian/Chagos|360|0|Indian Ocean Time|IOT|Indian Ocean Territory Summer Time|IOST
Pacific/Efate|660|0|Vanuatu Standard Time|VUT|Vanuatu Summer Time|VUST
Pacific/Nauru|720|0|Nauru Time|NRT|Nauru Summer Time|NRST
Pacific/Palau|540|0|Palau Time|PWT|Palau Summer Time|PWST
America/Bogota|-300|0|Colombia Standard Time|COT|Colombia Summer Time|COST
America/Cuiaba|-240|0|Amazon Standard Time|AMT|Amazon Summer Time|AMST
America/Guyana|-240|0|Guyana Time|GYT|Guyana Summer Time|GYST
America/Havana|-300|60|Cuba Standard Time|CST|Cuba Daylight Time|CDT
America/La_Paz|-240|0|Bolivia Time|BOT|Bolivia Summer Time|BOST
Asia/Hong_Kong|480|0|Hong Kong Standard Time|HKT|Hong Kong Summer Time|HKST
Asia/Kamchatka|720|0|Petropavlovsk-Kamchatski Standard Time|PETT|Petropavlovsk-Kamchatski Summer Time|PETST
Asia/Qyzylorda|300|0|West Kazakhstan Time|QYZT|Qyzylorda Summer Time|QYZST
Asia/Singapore|480|0|Singapore Standard Time|SGT|Singapore Summer Time|SGST
Indian/Reunion|240|0|Réunion Time|RET|Reunion Summer Time|REST
Pacific/Easter|-360|60|Easter Island Standard Time|EAST|Easter Island Summer Time|EASST
Pacific/Kosrae|660|0|Kosrae Time|KOST|Kosrae Summer Time|KOSST
Pacific/Majuro|720|0|Marshall Islands Time|MHT|Marshall Islands Summer Time|MHST
Pacific/Midway|-660|0|Samoa Standard Time|SST|Samoa Daylight Time|SDT
Pacific/Noumea|660|0|New Caledonia Standard Time|NCT|New Caledonia Summer Time|NCST
Pacific/Ponape|660|0|Ponape Time|PONT|Pohnpei Summer Time|PONST
Pacific/Tahiti|-600|0|Tahiti Time|TAHT|Tahiti Summer Time|TAHST
Pacific/Tarawa|720|0|Gilbert Islands Time|GILT|Gilbert Is. Summer Time|GILST
Pacific/Wallis|720|0|Wallis & Futuna Time|WFT|Wallis & Futuna Summer Time|WFST
Africa/Windhoek|60|0|Central Africa Time|CAT|Western African Time|WAT
America/Caracas|-240|0|Venezuela Time|VET|Venezuela Summer Time|VEST
America/Cayenne|-180|0|French Guiana Time|GFT|French Guiana Summer Time|GFST
America/Godthab|-120|60|West Greenland Standard Time|WGT|West Greenland Summer Time|WGST
America/Noronha|-120|0|Fernando de Noronha Standard Time|FNT|Fernando de Noronha Summer Time|FNST
Asia/Choibalsan|480|0|Ulaanbaatar Standard Time|CHOT|Ulaanbaatar Summer Time|CHOST
Atlantic/Azores|-60|60|Azores Standard Time|AZOT|Azores Summer Time|AZOST
Australia/Eucla|525|0|Australian Central Western Standard Time|ACWST|Australian Central Western Daylight Time|ACWDT
Australia/Perth|480|0|Australian Western Standard Time|AWST|Australian Western Daylight Time|AWDT
Indian/Maldives|300|0|Maldives Time|MVT|Maldives Summer Time|MVST
Pacific/Chatham|765|60|Chatham Standard Time|CHAST|Chatham Daylight Time|CHADT
Pacific/Fakaofo|780|0|Tokelau Time|TKT|Tokelau Summer Time|TKST
Pacific/Gambier|-540|0|Gambier Time|GAMT|Gambier Summer Time|GAMST
Pacific/Norfolk|660|60|Norfolk Island Standard Time|NFT|Norfolk Island Daylight Time|NFST
America/Asuncion|-180|0|Paraguay Standard Time|PYT|Paraguay Summer Time|PYST
America/Eirunepe|-300|0|Acre Standard Time|ACT|Acre Summer Time|ACST
America/Mazatlan|-420|0|Mexican Pacific Standard Time|MST|Mexican Pacific Daylight Time|MDT
America/Miquelon|-180|60|St. Pierre & Miquelon Standard Time|PMST|St. Pierre & Miquelon Daylight Time|PMDT
America/Santiago|-240|60|Chile Standard Time|CLT|Chile Summer Time|CLST
Antarctica/Casey|480|0|Casey Time|AWST|Australian Western Daylight Time|AWDT
Antarctica/Davis|420|0|Davis Time|DAVT|Davis Summer Time|DAVST
Antarctica/Syowa|180|0|Syowa Time|SYOT|Syowa Summer Time|SYOST
Asia/Krasnoyarsk|420|0|Krasnoyarsk Standard Time|KRAT|Krasnoyarsk Summer Time|KRAST
Asia/Novosibirsk|420|0|Novosibirsk Standard Time|NOVT|Novosibirsk Summer Time|NOVST
Asia/Ulaanbaatar|480|0|Ulaanbaatar Standard Time|ULAT|Ulaanbaatar Summer Time|ULAST
Atlantic/Stanley|-180|0|Falkland Islands Standard Time|FKT|Falkland Islands Summer Time|FKST
Europe/Volgograd|180|0|Volgograd Standard Time|MSK|Volgograd Summer Time|MSD
Indian/Christmas|420|0|Christmas Island Time|CXT|Christmas Island Summer Time|CXST
Indian/Kerguelen|300|0|French Southern & Antarctic Time|TFT|French Southern & Antarctic Lands Summer Time|TFST
Indian/Mauritius|240|0|Mauritius Standard Time|MUT|Mauritius Summer Time|MUST
Pacific/Funafuti|720|0|Tuvalu Time|TVT|Tuvalu Summer Time|TVST
Pacific/Pitcairn|-480|0|Pitcairn Time|PST|Pitcairn Daylight Time|PDT
America/Guayaquil|-300|0|Ecuador Time|ECT|Ecuador Summer Time|ECST
Antarctica/Mawson|300|0|Mawson Time|MAWT|Mawson Summer Time|MAWST
Antarctica/Vostok|300|0|Vostok Time|VOST|Vostok Summer Time|VOSST
Pacific/Enderbury|780|0|Phoenix Islands Time|PHOT|Phoenix Is. Summer Time|PHOST
Pacific/Galapagos|-360|0|Galapagos Time|GALT|Galapagos Summer Time|GALST
Pacific/Marquesas|-570|0|Marquesas Time|MART|Marquesas Summer Time|MARST
Pacific/Rarotonga|-600|0|Cook Islands Standard Time|CKT|Cook Islands Half Summer Time|CKHST
Pacific/Tongatapu|780|0|Tonga Standard Time|TOT|Tonga Summer Time|TOST
America/Montevideo|-180|0|Uruguay Standard Time|UYT|Uruguay Summer Time|UYST
America/Paramaribo|-180|0|Suriname Time|SRT|Suriname Summer Time|SRST
Antarctica/Rothera|-180|0|Rothera Time|ROTT|Rothera Summer Time|ROTST
Asia/Yekaterinburg|300|0|Yekaterinburg Standard Time|YEKT|Yekaterinburg Summer Time|YEKST
Pacific/Kiritimati|840|0|Line Islands Time|LINT|Line Is. Summer Time|LINST
Atlantic/Cape_Verde|-60|0|Cape Verde Standard Time|CVT|Cape Verde Summer Time|CVST
Australia/Lord_Howe|630|30|Lord Howe Standard Time|LHST|Lord Howe Daylight Time|LHDT
America/Santa_Isabel|-480|60|Northwest Mexico Standard Time|PST|Northwest Mexico Daylight Time|PDT
America/Scoresbysund|-120|60|East Greenland Standard Time|EGT|East Greenland Summer Time|EGST
Pacific/Port_Moresby|600|0|Papua New Guinea Time|PGT|Papua New Guinea Summer Time|PGST
Atlantic/South_Georgia|-120|0|South Georgia Time|GST|South Georgia Daylight Time|GDT
Antarctica/DumontDUrville|600|0|Dumont-d’Urville Time|DDUT|Dumont-d'Urville Summer Time|DDUST
Asia/Kashgar|360|0|Xinjiang Standard Time|XJT|Xinjiang Daylight Time|XJDT
CET|60|60|Central European Time|CET|Central European Summer Time|CEST
Europe/Istanbul|180|0|Turkey Time|TRT|Turkey Summer Time|TRST
Asia/Tomsk|420|0|Tomsk Standard Time|GMT+07:00|Tomsk Daylight Time|GMT+07:00
HST|-600|0|Hawaii Standard Time|HST|Hawaii Standard Time|HST
Europe/Saratov|240|0|Saratov Standard Time|GMT+04:00|Saratov Standard Time|GMT+04:00
America/Argentina/Buenos_Aires|-180|0|Argentine Time|ART|Argentine Summer Time|ARST
Pacific/Bougainville|660|0|Bougainville Standard Time|BST|Bougainville Daylight Time|BST
Asia/Barnaul|420|0|Barnaul Standard Time|GMT+07:00|Barnaul Daylight Time|GMT+07:00
MET|60|60|Middle Europe Time|MET|Middle Europe Summer Time|MEST
Africa/El_Aaiun|0|0|Western European Time|WET|Western European Summer Time|WEST
Antarctica/Palmer|-180|0|Chile Time|CLT|Chile Summer Time|CLST
America/Punta_Arenas|-180|0|Punta Arenas Standard Time|GMT-03:00|Punta Arenas Standard Time|GMT-03:00
Europe/Kirov|180|0|Moscow Standard Time|MSK|Moscow Daylight Time|MSD
Pacific/Kanton|780|0|Kanton Standard Time|GMT+13:00|Kanton Daylight Time|GMT+13:00
Europe/Astrakhan|240|0|Astrakhan Standard Time|GMT+04:00|Astrakhan Standard Time|GMT+04:00
Asia/Famagusta|120|60|Eastern European Time|EET|Eastern European Summer Time|EEST
Europe/Ulyanovsk|240|0|Ulyanovsk Standard Time|GMT+04:00|Ulyanovsk Standard Time|GMT+04:00
Asia/Srednekolymsk|660|0|Srednekolymsk Time|SRET|Srednekolymsk Daylight Time|SREDT
"""
